package import Proxy
