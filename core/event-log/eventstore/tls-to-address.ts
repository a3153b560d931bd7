import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { lazy } from '../../util/lazy.ts'

/** What grpc-js passes to `tls.connect` for a channel. */
interface SecureConnector {
  readonly connectionOptions?: { servername?: string }
}

interface SecureCredentials {
  _createSecureConnector?: (...args: unknown[]) => SecureConnector
}

/**
 * Lets the official client connect to IP addresses with TLS, as nodes of a cluster announce them. grpc-js
 * (1.14) sets the address as the name of the server for SNI, which RFC 6066 forbids and Node 26 refuses. The
 * certificate is checked against the address without it, too.
 */
export const allowTlsToAddresses = lazy(() => {
  // The copy of grpc-js that the client uses.
  const { resolve } = createRequire(import.meta.url)
  const grpc = createRequire(resolve('@eventstore/db-client'))('@grpc/grpc-js')
  const prototype: SecureCredentials = Object.getPrototypeOf(grpc.credentials.createSsl())
  const create = prototype._createSecureConnector
  if (create === undefined) return
  prototype._createSecureConnector = function (...args) {
    const connector = create.apply(this, args)
    const options = connector.connectionOptions
    if (isIP(options?.servername ?? '') !== 0) delete options?.servername
    return connector
  }
})
