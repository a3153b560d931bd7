import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import type { BenchGateway } from './gateway.ts'
import { startProcess } from './processes.ts'

/**
 * The server adapter of Portkey's own lock file. npm would install the newest version, with which streams
 * fail (https://github.com/Portkey-AI/gateway/issues/1389).
 */
const MANIFEST = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  overrides: { '@hono/node-server': '1.13.5' },
}

/**
 * Installs Portkey's gateway from npm into a separate folder and starts it with the upstream as its custom
 * host.
 */
export async function startPortkey(folder: string, upstream: string): Promise<BenchGateway> {
  const place = path.join(folder, 'portkey')
  mkdirSync(place)
  writeFileSync(path.join(place, 'package.json'), JSON.stringify(MANIFEST))
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: place })
  const program = path.join(place, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  const port = await findPort()
  const process = await startProcess([program, '--headless', `--port=${port}`], {}, (line) =>
    line.includes('Ready for connections'),
  )
  const headers = {
    authorization: 'Bearer x',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/openai/v1`,
  }
  return { url: `http://127.0.0.1:${port}`, headers, process }
}

/** Returns a port that is free at the moment, for servers that do not report theirs. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address !== 'object') throw new Error('No port is free.')
  return address.port
}
