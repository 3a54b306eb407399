"""HTTP requests from the target, with the standard library alone (which is imported when the first one is made)."""

import os
import socket
import time

from cleanslate.remote.paths import expand
from cleanslate.remote.registry import Failed, changes, reads

_SAFE = ("GET", "HEAD", "OPTIONS")
_LARGEST = 256 << 20
_JSON = ("json", "javascript")


@reads
def get(call, url, method="GET", **options):
    """The same as request, for methods that change nothing (GET, HEAD, OPTIONS)."""
    if method.upper() not in _SAFE:
        raise Failed("wrong", f"{method} may change something")
    return _request(call, url, method, options)


@changes
def http(call, url, method="GET", **options):
    """Make one HTTP request: {status, reason, url, redirected, headers, charset, cookies, elapsed, length, refused}.

    The blob is the body, where it is JSON or `body` is "always" ("json" by default). status is -1 where there was no
    answer, and refused says why. headers: names in lower case, equal ones joined by commas. What is sent along is the
    request's body, else the target's own file `source`. options: headers, user, password, force_basic, timeout,
    redirects (safe, all, none), validate_certs, ca_path, client_cert, client_key, ciphers, unix_socket, proxy,
    environment (for proxies), agent, decompress, netrc, unredirected (headers not sent on).
    """
    return _request(call, url, method, options)


def _request(call, url, method, options):
    import http.client

    began = time.monotonic()
    data = call.blob.read() if call.blob is not None else None
    if options.get("source"):
        with open(expand(options["source"]), "rb") as file:
            data = file.read()
    jar = ()
    try:
        jar, response = open_url(
            url, data, method.upper(), options, min(options.get("timeout", 30.0), max(call.left(), 0.1))
        )
        with response:
            answer, body = _answer(response, url, options)
    except (OSError, ValueError, http.client.HTTPException) as error:
        answer = {"status": -1, "reason": None, "url": url, "redirected": False, "headers": {}, "length": 0}
        body, answer["refused"] = b"", reason_of(error)
    answer["elapsed"] = time.monotonic() - began
    answer["cookies"] = {cookie.name: cookie.value for cookie in jar}
    return answer, body


def open_url(url, data, method, options, timeout):
    """(cookies, response) of a request, whatever its status; one that asks who we are is answered once.

    The options are those of http(); an OSError, ValueError or HTTPException says that there is no answer.
    """
    import urllib.request

    request = urllib.request.Request(url, data=data, method=method)
    for name, value in (options.get("headers") or {}).items():
        request.add_header(name, str(value))
    user, password = options.get("user"), options.get("password") or ""
    if user is None and options.get("netrc", True) and not request.has_header("Authorization"):
        user, password = _from_netrc(request)
    if user is not None and (options.get("force_basic") or options.get("user") is None):
        request.add_unredirected_header("Authorization", _basic(user, password))
    jar, opener = _opener(request, options)
    response = _try(opener, request, timeout)
    if response.code == 401 and user is not None and not request.has_header("Authorization"):
        proof = _proof(response.headers.get("WWW-Authenticate", ""), request, user, password)
        if proof:
            response.close()
            request.add_unredirected_header("Authorization", proof)
            response = _try(opener, request, timeout)
    return jar, response


def _try(opener, request, timeout):
    """The response, whatever its status."""
    import urllib.error

    try:
        return opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        return error


def reason_of(error):
    """In words, why there was no answer."""
    import http.client

    if isinstance(error, http.client.HTTPException):
        return f"the answer is not HTTP: {type(error).__name__}: {error}"
    inner = getattr(error, "reason", error)
    if isinstance(inner, (socket.timeout, TimeoutError)):
        return "timed out"
    return str(getattr(inner, "strerror", None) or inner).lower() if isinstance(inner, OSError) else str(inner)


def _answer(response, url, options):
    body = response.read(_LARGEST + 1) if response.fp is not None else b""
    if len(body) > _LARGEST:
        raise Failed("wrong", f"the answer of {url} is larger than {_LARGEST} bytes")
    headers = {}
    for name, value in response.headers.items():
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if options.get("decompress", True) and headers.get("content-encoding", "").lower() == "gzip":
        import gzip

        body = gzip.decompress(body)
    final = response.geturl()
    kind = headers.get("content-type", "").lower()
    wanted = options.get("body") == "always" or any(word in kind for word in _JSON)
    answer = {
        "status": response.code or 200,  # file: addresses have none
        "reason": getattr(response, "reason", None),
        "url": final,
        "redirected": final != url,
        "headers": headers,
        "charset": response.headers.get_content_charset(),
        "length": len(body),
        "refused": None,
    }
    return answer, body if wanted else b""


# --------------------------------------------------------------------------- how it is sent


def _basic(user, password):
    import base64

    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def _proof(challenge, request, user, password):
    """The Authorization header that answers a challenge; None for a kind that is not known here."""
    import urllib.request

    kind, _, details = challenge.partition(" ")
    if kind.lower() == "basic":
        return _basic(user, password)
    if kind.lower() != "digest":
        return None
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, request.full_url, user, password)
    parts = urllib.request.parse_keqv_list(filter(None, urllib.request.parse_http_list(details)))
    found = urllib.request.HTTPDigestAuthHandler(passwords).get_authorization(request, parts)
    return f"Digest {found}" if found else None


def _from_netrc(request):
    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    if not os.path.exists(path):
        return None, None
    import netrc

    try:
        found = netrc.netrc(path).authenticators(request.host.rsplit(":", 1)[0])
    except (OSError, netrc.NetrcParseError):
        return None, None
    return (found[0], found[2]) if found else (None, None)


def _opener(request, options):
    import http.cookiejar
    import urllib.request

    jar = http.cookiejar.CookieJar()
    handlers = [urllib.request.HTTPCookieProcessor(jar), urllib.request.ProxyHandler(_proxies(request, options))]
    handlers.append(_redirects(options))
    if options.get("unix_socket"):
        handlers.append(_unix_handler(expand(options["unix_socket"])))
    if request.type == "https":
        handlers.append(urllib.request.HTTPSHandler(context=_tls(options)))
    opener = urllib.request.build_opener(*handlers)
    opener.addheaders = [("User-Agent", options.get("agent") or "ansible-httpget")]
    return jar, opener


def _proxies(request, options):
    """The proxies of the environment, unless they are not wanted or not for this host."""
    import urllib.request

    if not options.get("proxy", True) or options.get("unix_socket"):
        return {}
    environment = dict(os.environ, **(options.get("environment") or {}))
    found = {
        name.lower()[: -len("_proxy")]: value
        for name, value in environment.items()
        if name.lower().endswith("_proxy") and value
    }
    return {} if urllib.request.proxy_bypass_environment(request.host, found) else found


def _tls(options):
    import ssl

    context = ssl.create_default_context(cafile=expand(options["ca_path"]) if options.get("ca_path") else None)
    if not options.get("validate_certs", True):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.get("client_cert"):
        key = options.get("client_key")
        context.load_cert_chain(expand(options["client_cert"]), keyfile=expand(key) if key else None)
    if options.get("ciphers"):
        context.set_ciphers(options["ciphers"])
    return context


def _redirects(options):
    import urllib.error
    import urllib.request

    policy = options.get("redirects", "safe")
    kept_back = {name.lower() for name in options.get("unredirected") or ()}

    class Redirects(urllib.request.HTTPRedirectHandler):
        """Follows as the policy says: none, only GET and HEAD (safe), all."""

        def redirect_request(self, req, fp, code, msg, headers, newurl):
            method = req.get_method()
            if policy == "none" or (policy == "safe" and method not in ("GET", "HEAD")):
                raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
            if code == 303 or (code == 302 and method != "HEAD") or (code == 301 and method == "POST"):
                method, data = ("HEAD" if method == "HEAD" else "GET"), None
            else:
                data = req.data
            dropped = kept_back | (set() if data is not None else {"content-length", "content-type"})
            kept = {name: value for name, value in req.headers.items() if name.lower() not in dropped}
            return urllib.request.Request(
                newurl, data=data, headers=kept, origin_req_host=req.origin_req_host, unverifiable=True, method=method
            )

        http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302

    return Redirects()


def _unix_handler(path):
    import http.client
    import urllib.request

    class Connection(http.client.HTTPConnection):
        """A connection through a Unix socket."""

        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(path)

    class Handler(urllib.request.HTTPHandler):
        """Opens http: addresses through it."""

        def http_open(self, req):
            return self.do_open(Connection, req)

    return Handler()
