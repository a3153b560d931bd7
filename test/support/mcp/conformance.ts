import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../root.ts'

/** What `.ci/mcp-conformance` installs. */
const HOME = fileURLToPath(new URL('node_modules/.cache/mcp-conformance/', ROOT))

/** Why the suite cannot run here; undefined if it can. */
export function whyNoConformanceSuite(): string | undefined {
  return existsSync(`${HOME}installed`) ? undefined : 'run .ci/mcp-conformance, which installs the suite'
}

/** Scenarios with the checks that passed and failed. */
export type ScenarioResults = ReadonlyMap<string, { readonly passed: number; readonly failed: number }>

/** Runs scenarios of the suite against a server. Rejects if it prints no results. */
export async function runConformance(url: string, args: readonly string[]): Promise<ScenarioResults> {
  const program = `${HOME}node_modules/@modelcontextprotocol/conformance/dist/index.js`
  const output = await new Promise<string>((resolve) =>
    execFile(
      `${HOME}node_modules/.bin/node`,
      [program, 'server', '--url', url, ...args],
      { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 },
      // The exit code tells only that something failed.
      (_error, stdout, stderr) => resolve(`${stdout}${stderr}`),
    ),
  )
  const lines = output.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$/gmu)
  const results = new Map(
    [...lines].map(([, name = '', passed, failed]) => [
      name,
      { passed: Number(passed), failed: Number(failed) },
    ]),
  )
  if (results.size === 0) throw new Error(`The conformance suite printed no results:\n${output.slice(-2000)}`)
  return results
}

/** Starts the reference server of the SDK for the suite, which serves all revisions. */
export async function startReferenceServer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = await findFreePort()
  const tsx = createRequire(import.meta.url).resolve('tsx')
  const child: ChildProcess = spawn(process.execPath, ['--import', tsx, 'everythingServer.ts'], {
    cwd: HOME,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  const started = new Promise<void>((resolve) =>
    child.stdout?.on('data', (chunk) => String(chunk).includes('MCP endpoint') && resolve()),
  )
  await Promise.race([
    started,
    ended.then(() => {
      throw new Error('The reference server has ended.')
    }),
  ])
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      child.kill()
      await ended
    },
  }
}

/** The server takes its port from the environment. */
async function findFreePort(): Promise<number> {
  const server = createServer()
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * Starts a proxy that sends all requests to one address, with headers added. `refuse`: those for which it
 * returns a message are answered with 400 and a JSON-RPC error instead.
 */
export async function startHeaderProxy(
  target: string,
  added: Readonly<Record<string, string>>,
  refuse: (headers: http.IncomingHttpHeaders) => string | undefined = () => undefined,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = http.createServer((incoming, response) => {
    const message = refuse(incoming.headers)
    if (message !== undefined) {
      incoming.resume()
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }))
      return
    }
    const headers = { ...incoming.headers, ...added }
    const outgoing = http.request(target, { method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.on('error', () => response.destroy())
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    // The suite takes only servers on this host by its name.
    url: `http://localhost:${port}/mcp`,
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
