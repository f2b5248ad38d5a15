--- Certificates made on the spot with openssl: an authority of its own, and what it signs for a server.

local program = require "spec.interop.support.program"

local certificate = {}

local MAKE = [[cd %s && {
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=Interop CA' \
  -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem &&
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout server.key \
  -out server.csr &&
printf 'subjectAltName=%s\n' >server.ext &&
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem
} >openssl.log 2>&1]]

--- Makes them in the folder: the files ca.pem, server.pem and server.key. `names` as in a subjectAltName; by default
-- the loopback interface. Returns the path of the authority's file.
function certificate.make(folder, names)
  local made = os.execute(MAKE:format(program.quote(folder), names or "DNS:localhost,IP:127.0.0.1"))
  assert(made, program.read(folder .. "/openssl.log"))
  return folder .. "/ca.pem"
end

return certificate
