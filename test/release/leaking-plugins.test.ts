import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { installAll, listPlugins } from '../support/plugins.ts'
import { waitUntil } from '../support/wait.ts'

const SECRET = 'kingfisher'

/** Leaks in the way that the header `x-leak` names, and then lets the request pass. */
const LEAKY = `import { EventEmitter } from 'node:events'
const emitter = new EventEmitter()
setInterval(() => emitter.emit('tick', 'x'), 5).unref()
const fail = () => { throw new Error('it leaked') }
const LEAKS = {
  'a rejection': () => void Promise.reject(new Error('it leaked')),
  'a rejection with a text': () => void Promise.reject('${SECRET}'),
  'an async function': () => void (async () => { await null; fail() })(),
  'a timer': () => setTimeout(fail, 1),
  'an interval': () => setInterval(fail, 1),
  'an immediate': () => setImmediate(fail),
  'a tick': () => process.nextTick(fail),
  'a microtask': () => queueMicrotask(fail),
  'an event': () => emitter.on('tick', fail),
  'an error event': () => setTimeout(() => emitter.emit('error', new Error('it leaked')), 1),
  'a string in a timer': () => setTimeout(() => { throw '${SECRET}' }, 1),
  'a frozen error in a timer': () => setTimeout(() => { throw Object.freeze(new Error('it leaked')) }, 1),
  'a hostile error in a timer': () => setTimeout(() => {
    throw Object.defineProperty(new Error('it leaked'), 'stack', { get: fail })
  }, 1),
  'a listener of the client': ({ client }) => client.onClose(fail),
  'an exit': () => process.exit(0),
  'an exit in a timer': () => setTimeout(() => process.exit(0), 1),
}
export default {
  name: 'leaky', contract: 3, after: ['auth'],
  setup: () => ({ decide(exchange) { LEAKS[exchange.headers['x-leak']]?.(exchange) } }),
}`

const LEAKS = [...LEAKY.matchAll(/^ {2}'(.+?)': /gm)].map(([, name = '']) => name)

const start = async (environment: Record<string, string> = {}) => {
  const folder = await installAll({ leaky: LEAKY })
  const CONFIG = await listPlugins(folder, { add: [{ use: 'leaky', before: 'dispatch' }] })
  return startGatewayProcess({ CONFIG, ...environment }, { cwd: folder })
}

const ask = (gateway: GatewayProcess, leak = 'none', content = 'hello') =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content), { 'x-leak': leak, connection: 'close' })

const fatalLines = (gateway: GatewayProcess) =>
  gateway
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":60'))
    .map((line) => JSON.parse(line))

describe('a plugin that leaks an error', () => {
  for (const leak of LEAKS)
    it(`ends a single process in order, with a line that names it: ${leak}`, async () => {
      const gateway = await start()
      // It waits for its reply when the error is thrown, and is answered.
      const waiting = ask(gateway, 'none', '[[sandbox:first-byte=400]] hello')
      await ask(gateway, leak).catch(() => undefined)
      const { status } = await waiting
      expect(status).to.equal(200)
      await waitUntil(() => gateway.process.exitCode !== null)
      expect(gateway.process.exitCode).to.equal(1)
      const [line] = fatalLines(gateway)
      expect(line.plugin, gateway.stderr()).to.equal('plugin "leaky"')
      expect(gateway.stderr()).not.to.contain(SECRET)
      expect(gateway.stderr()).not.to.match(/^\s+at /m)
    })

  it('is restarted by the primary, and the other worker serves', async () => {
    const gateway = await start({ WORKERS: '2' })
    await ask(gateway, 'a timer')
    await gateway.wrote('worker exited; restarting')
    const [line] = fatalLines(gateway)
    expect(line).to.include({ plugin: 'plugin "leaky"', origin: 'uncaughtException' })
    for (let request = 0; request < 4; request++) expect((await ask(gateway)).status).to.equal(200)
    expect(await gateway.stop()).to.equal(0)
  })
})
