"""Throw-away certificates, made with the openssl command."""
import ssl, subprocess
from pathlib import Path

NAMES = "subjectAltName=DNS:localhost,DNS:a.test,DNS:b.test,IP:127.0.0.1,IP:::1"
CLIENT = "extendedKeyUsage=clientAuth\nsubjectAltName=DNS:alice.test,email:alice@a.test"
EC = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


class Certificates:
    """A folder with two authorities, servers and clients: NAME.pem and NAME.key."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("ca", "other-ca"):
            self.run("req", "-x509", "-newkey", *EC, "-nodes", "-days", "30", "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name)
        for name, subject, authority, extensions, key, days in [
                ("server", "/CN=server", "ca", NAMES, EC, 30), ("renewed", "/CN=renewed", "ca", NAMES, EC, 30), ("rsa", "/CN=rsa", "ca", NAMES, ["rsa:2048"], 30),
                ("wild", "/CN=wild", "ca", "subjectAltName=DNS:*.w.test", EC, 30), ("one", "/CN=one", "ca", "subjectAltName=DNS:one.w.test", EC, 30),
                ("foreign", "/CN=foreign", "other-ca", NAMES, EC, 30), ("stale", "/CN=stale", "ca", NAMES, EC, -1),
                ("alice", "/O=Example/CN=alice", "ca", CLIENT, EC, 30), ("revoked", "/O=Example/CN=revoked", "ca", CLIENT, EC, 30),
                ("expired", "/O=Example/CN=alice", "ca", CLIENT, EC, -1), ("stranger", "/O=Example/CN=alice", "other-ca", CLIENT, EC, 30)]:
            self.issue_by(self.folder / authority, self.folder / name, subject, extensions, key, days)
        self.run("ec", "-in", "server.key", "-aes128", "-passout", "pass:x", "-out", "locked.key")
        (self.folder / "locked.pem").write_text((self.folder / "server.pem").read_text())
        self.revoke("revoked")

    def __truediv__(self, name):
        return self.folder / name

    def run(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], cwd=self.folder, check=True, capture_output=True)

    @staticmethod
    def issue_by(authority, path, subject, extensions, key=EC, days=30):
        text = {suffix: str(path) + suffix for suffix in (".key", ".csr", ".ext", ".pem")}
        Path(text[".ext"]).write_text(extensions)
        subprocess.run(["openssl", "req", "-newkey", *key, "-nodes", "-keyout", text[".key"], "-out", text[".csr"], "-subj", subject], check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", text[".csr"], "-CA", "%s.pem" % authority, "-CAkey", "%s.key" % authority, "-set_serial", str(abs(hash(str(path)))),
                        "-days", str(days), "-extfile", text[".ext"], "-out", text[".pem"]], check=True, capture_output=True)

    def revoke(self, name):
        (self.folder / "index").write_text("")
        (self.folder / "ca.cnf").write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\ndefault_md=sha256\ndefault_crl_days=30\n" % self.folder)
        common = ["ca", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"]
        self.run(*common, "-revoke", name + ".pem")
        self.run(*common, "-gencrl", "-out", "ca.crl")

    def client(self, certificate=None):
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        if certificate:
            context.load_cert_chain(self.folder / (certificate + ".pem"), self.folder / (certificate + ".key"))
        return context

    def server(self, certificate, demands=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / (certificate + ".pem"), self.folder / (certificate + ".key"))
        if demands:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.folder / "ca.pem")
        return context
