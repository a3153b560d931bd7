import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { createFirstUser } from '../support/first-user.ts'
import { ADMIN_KEY, type RunningGateway } from '../support/gateway.ts'
import { readBlocks } from '../support/pages.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'

/** The plugins of docs/plugins.md, "Three short plugins", and the longest that each may be. */
const FILES = { 'team.mjs': 20, 'code-names.mjs': 10, 'loco.mjs': 30 }

async function readSources(): Promise<Readonly<Record<string, string>>> {
  const page = await readFile(new URL('docs/plugins.md', ROOT), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith('Three short plugins\n')) ?? ''
  const blocks = [...section.matchAll(/^```js\n(.*?)^```/gms)].map(([, source = '']) => source)
  expect(blocks).to.have.length(3)
  return Object.fromEntries(Object.keys(FILES).map((name, index) => [name, blocks[index] ?? '']))
}

async function readSettings(): Promise<string> {
  const blocks = await readBlocks('docs/plugins.md', 'yaml')
  return blocks.find((block) => block.includes('./team.mjs')) ?? expect.fail('no such settings')
}

describe('the short plugins of docs/plugins.md', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let authorization: string
  before(async () => {
    provider = await startScriptedProvider()
    const row = {
      id: 'loco-1',
      provider: 'loco',
      context: 9000,
      max_output: 900,
      quality: 70,
      latency_ms: 900,
    }
    const price = { input: 1, cached: 1, output: 1 }
    const model = { ...row, price, capabilities: { tools: true, images: false, json: 'object' } }
    const { plugins, providers } = load(await readSettings()) as {
      plugins: { add: unknown[] }
      providers: { loco: object }
    }
    const loco = { ...providers.loco, base_url: provider.url }
    const settings = `providers: ${JSON.stringify({ loco })}\nmodels: ${JSON.stringify([model])}\n`
    gateway = await startWithPlugins(await readSources(), plugins, settings, { LOCO_KEY: 'sk-test' })
    authorization = `Bearer ${await createFirstUser(gateway.url, ADMIN_KEY)}`
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const post = (path: string, body: object, headers = {}) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const ask = (fields: object, headers = {}) => {
    provider.play({ chunks: [chunk({ content: 'About Pro' }), chunk({ content: 'ject X today.' })] })
    const messages = [{ role: 'user', content: 'Hi' }]
    return post('/v1/chat/completions', { model: 'loco:any', messages, ...fields }, headers)
  }

  it('are as short as promised', async () => {
    const sources = await readSources()
    for (const [name, most] of Object.entries(FILES))
      expect(sources[name]?.trim().split('\n').length, name).to.be.at.most(most)
  })

  it('match a header, and instruct the model', async () => {
    const rule = { name: 'Blue', is_enabled: true, priority: 0, match_json: { team: 'blue' } }
    const actions = { set_mode: 'cost', instruct: 'Be brief.' }
    const created = await post('/v1/routing-rules', { ...rule, action_json: actions })
    expect(created.status, await created.text()).to.equal(201)
    const outcomeFor = async (team: string) => {
      const response = await ask({ stream: true }, { 'x-team': team })
      const mode = /"routing_mode":"(\w+)"/.exec(await response.text())?.[1]
      const messages: { content: string }[] = provider.last()?.body.messages ?? []
      return [mode, ...messages.map(({ content }) => content)]
    }
    expect(await outcomeFor('blue')).to.deep.equal(['cost', 'Be brief.', 'Hi'])
    expect(await outcomeFor('red')).to.deep.equal(['balance', 'Hi'])
  })

  it('replace a phrase in a whole reply', async () => {
    provider.play({ body: completion({ role: 'assistant', content: 'About Project X today.' }) })
    const messages = [{ role: 'user', content: 'Hi' }]
    const text = await (await post('/v1/chat/completions', { model: 'loco:any', messages })).text()
    expect(text).to.contain('About [code name] today.')
  })

  it('replace a phrase that is split between chunks', async () => {
    const text = await (await ask({ stream: true })).text()
    expect(text).to.contain('[code name]').and.not.contain('ject X')
  })

  it('send fields by the name that the provider knows, and leave others out', async () => {
    const text = await (await ask({ stream: true, max_completion_tokens: 7, logit_bias: { 5: 1 } })).text()
    expect(text).to.contain('logit_bias was omitted')
    expect(provider.last()?.body).to.include({ max_tokens: 7 })
    expect(provider.last()?.body).not.to.have.any.keys('max_completion_tokens', 'logit_bias')
  })
})
