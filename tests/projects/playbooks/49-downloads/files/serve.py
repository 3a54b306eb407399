import http.server, sys, json
class H(http.server.BaseHTTPRequestHandler):
    n = 0
    def do_GET(self):
        if self.path == "/health":
            H.n += 1
            code, body = (200, b'{"status": "ok"}') if H.n >= 3 else (503, b"loading")
        elif self.path.startswith("/model"):
            code, body = 200, b"weights of " + self.path.encode()
        else:
            code, body = 404, b"no"
        self.send_response(code); self.send_header("Content-Type", "application/json" if code == 200 and b"{" in body else "text/plain")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        got = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"got": got.decode(), "ctype": self.headers["Content-Type"], "auth": self.headers.get("Authorization"), "x": self.headers.get("X-Token")}).encode()
        self.send_response(201); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
