import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { createFirstUser } from '../support/first-user.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { installAll } from '../support/plugins.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { type StoppedTimers, stopTimers } from '../support/timers.ts'

/** No other timer has this length. */
const PLUGIN_MS = 50_001

/** Reads the stream of `next` completely, before it returns a reply or in the stream that it returns. */
const PATIENT = `async function collect(batches) {
  const all = []
  for await (const batch of batches) all.push(...batch)
  return all
}
export default {
  name: 'patient',
  contract: 3,
  before: ['dispatch'],
  setup: () => ({
    async reply({ headers }, next) {
      const { batches } = await next()
      const collected = headers['x-read'] === 'first' ? await collect(batches) : undefined
      return { type: 'stream', batches: (async function* () { yield collected ?? await collect(batches) })() }
    },
  }),
}`

describe("the time limit of plugins does not count that of a provider's stream, which is read", () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let authorization: string
  let timers: StoppedTimers
  before(async () => {
    provider = await startScriptedProvider()
    timers = stopTimers(PLUGIN_MS)
    provider.play({
      chunks: ['a', 'b', 'c'].map((content) => chunk({ content })),
      beforeChunk: () => timers.pass(PLUGIN_MS),
    })
    const pluginFolder = await installAll({ patient: PATIENT })
    const plugins = `plugins: { add: [{ use: patient, before: dispatch }] }\ntimeouts: { plugin_ms: ${PLUGIN_MS} }\n`
    const settings = await withSettings(UNLIMITED + plugins)
    const environment = { ...settings, OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url }
    gateway = await startGateway(environment, { pluginFolder })
    authorization = `Bearer ${await createFirstUser(gateway.url, ADMIN_KEY)}`
  })
  after(async () => {
    timers.restore()
    await gateway?.stop()
    provider?.close()
  })

  for (const [when, what] of [
    ['first', 'before the plugin returns a reply'],
    ['later', 'in the stream that it returns'],
  ] as const) {
    it(what, async () => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'x-read': when },
        body: JSON.stringify(chatBody('Hi', { stream: true })),
      })
      const text = await response.text()
      expect(text).to.contain('"content":"c"')
      expect(text).to.contain('[DONE]')
    })
  }
})
