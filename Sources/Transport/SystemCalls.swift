internal import CLinux
