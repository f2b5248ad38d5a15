--- nginx as a front before a loopback provider: TLS, HTTP/2 and HTTP/1.1 on one port. Its answers carry the headers
-- x-connection (the number of the connection), x-requests (of requests on it so far) and x-protocol.

local front = require "spec.interop.support.front"
local program = require "spec.interop.support.program"

local nginx = {}

local CONFIG = [[
daemon off;
worker_processes 1;
error_log stderr warn;
pid nginx.pid;
%s
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream provider { server 127.0.0.1:%d; keepalive 8; }
  server {
    listen 127.0.0.1:%d %s;
    ssl_certificate server.pem;
    ssl_certificate_key server.key;
    add_header x-connection $connection always;
    add_header x-requests $connection_requests always;
    add_header x-protocol $server_protocol always;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
    %s
  }
}
]]

-- Started by root, its workers would be another user, who could not write to the folder.
local function user()
  local id <close> = assert(io.popen "id -u; id -un; id -gn")
  local number, name, group = id:read("l", "l", "l")
  return number == "0" and ("user %s %s;"):format(name, group) or ""
end

local USER = user()

local function command(folder) return ("nginx -p %s/ -c nginx.conf"):format(program.quote(folder)) end

local function launch(self, directives)
  program.write(self.folder .. "/nginx.conf", CONFIG:format(USER, self.provider, self.port, self.protocols,
    directives))
  return program.start(self.folder, command(self.folder), function(log)
    assert(not log:find "%[emerg%]", "not started")
    return program.listens(self.port)
  end)
end

--- Starts nginx before 127.0.0.1:`provider`. `directives` are further ones for its only server; `protocols` is
-- "ssl http2" (default) or "ssl". Returns the same as front.start; restart takes directives.
function nginx.start(provider, directives, protocols)
  return front.start({ provider = provider, launch = launch, protocols = protocols or "ssl http2" }, directives)
end

return nginx
