import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { ServerTls } from './eventstore/node.ts'
import { ROOT } from './root.ts'

const folder = new URL('test/fixtures/tls/', ROOT)

/** The certificate of test servers for 127.0.0.1, its authority, and an authority that did not sign it. */
export async function readTestTls(): Promise<{ tls: ServerTls; caFile: string; otherCaFile: string }> {
  const read = (name: string) => readFile(new URL(name, folder))
  return {
    tls: { key: await read('server.key'), certificate: await read('server.pem') },
    caFile: fileURLToPath(new URL('ca.pem', folder)),
    otherCaFile: fileURLToPath(new URL('other-ca.pem', folder)),
  }
}
