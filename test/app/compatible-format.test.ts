import { expect } from 'chai'
import { createFirstUser } from '../support/first-user.ts'
import { ADMIN_KEY, type RunningGateway } from '../support/gateway.ts'
import { readBlocks } from '../support/pages.ts'
import { startWithPlugins } from '../support/plugins.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'

/** The plugin of docs/plugins.md, "Compatible providers". */
async function readAcme(): Promise<string> {
  const blocks = await readBlocks('docs/plugins.md', 'js')
  return blocks.find((block) => block.includes("format: 'acme'")) ?? expect.fail('no such plugin')
}

describe('a provider that is compatible but for some fields', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let authorization: string
  before(async () => {
    provider = await startScriptedProvider()
    const settings = `providers: { acme: { format: acme, base_url: '${provider.url}', key_variable: ACME_KEY, capabilities: { seed: true, logit_bias: true } } }\n`
    const sources = { 'signalbox-acme': await readAcme() }
    gateway = await startWithPlugins(sources, { add: ['signalbox-acme'] }, settings, { ACME_KEY: 'sk-test' })
    authorization = `Bearer ${await createFirstUser(gateway.url, ADMIN_KEY)}`
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  it('gets fields by its own names, and the caller is warned of what it does not know', async () => {
    provider.play({ chunks: [chunk({ content: 'Hi' })] })
    const body = {
      model: 'acme:fast',
      messages: [{ role: 'user', content: 'Hi' }],
      ...{ max_completion_tokens: 7, logit_bias: { 5: 1 }, temperature: 1.5, seed: 3, stream: true },
      ...{ reasoning_effort: 'xhigh' },
    }
    const headers = { authorization, 'content-type': 'application/json' }
    const url = `${gateway.url}/v1/chat/completions`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    expect(text).to.contain('"content":"Hi"').and.contain('logit_bias')
    expect(text).to.contain('temperature was changed').and.not.contain('seed')
    const sent = provider.last()?.body
    expect(sent).to.include({ max_tokens: 7, temperature: 1, seed: 3, thinking: 'deep' })
    expect(sent).not.to.have.any.keys('max_completion_tokens', 'logit_bias', 'reasoning_effort')
  })
  it('gets long requests', async () => {
    provider.play({ body: completion({ content: 'Hi' }) })
    const messages = [{ role: 'user', content: 'a long conversation '.repeat(200) }]
    const headers = { authorization }
    const answer = await gateway.call(
      'POST',
      '/v1/chat/completions',
      { model: 'acme:fast', messages },
      headers,
    )
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(provider.last()?.body.messages).to.deep.equal(messages)
  })
})
