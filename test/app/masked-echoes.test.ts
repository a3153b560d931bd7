import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { providersAt } from '../support/providers.ts'
import { receivedText } from '../support/streams.ts'

const WORD = 'hush-4711'
const schema = { type: 'object', properties: { [`is_${WORD}`]: { description: WORD } } }
const plain = { type: 'function', name: 'plain', parameters: {} }

/** Fields of a request with the word, which the response repeats. */
const FIELDS: Readonly<Record<string, object>> = {
  input: { input: `a ${WORD}` },
  'a list of input': { input: [{ role: 'user', content: [{ type: 'input_text', text: WORD }] }] },
  instructions: { instructions: WORD },
  'descriptions of tools': { tools: [{ ...plain, description: WORD }] },
  'parameters of tools': { tools: [{ ...plain, parameters: schema }] },
  'unknown fields of tools': { tools: [{ ...plain, note: WORD }] },
  'tools that are not sent': { tools: [plain, { type: 'web_search', note: WORD }] },
  'tools that are not allowed': {
    tools: [plain, { ...plain, name: 'other', description: WORD }],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'plain', note: WORD }],
    },
  },
  'the choice of a tool': { tools: [plain], tool_choice: { type: 'function', name: 'plain', note: WORD } },
  'custom tools': { tools: [{ type: 'custom', name: 'c', description: WORD }] },
  grammars: {
    tools: [{ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: WORD } }],
  },
  namespaces: {
    tools: [{ type: 'namespace', name: 'n', description: WORD, tools: [{ ...plain, description: WORD }] }],
  },
  'searches for tools': {
    tools: [{ type: 'tool_search', execution: 'client', description: WORD, parameters: schema }],
  },
  'formats of the text': {
    text: { format: { type: 'json_schema', name: 'answer', description: WORD, schema } },
  },
  'unknown fields of a format': { text: { format: { type: 'json_object', note: WORD } } },
  user: { user: WORD },
  'the safety identifier': { safety_identifier: WORD },
  'the cache key': { prompt_cache_key: WORD },
  metadata: { metadata: { [`key-${WORD}`]: 'a', b: `b ${WORD}` } },
}

describe('what rules mask is masked in what responses repeat and store', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    gateway = await startGatewayOnFiles(providersAt(sandbox))
    user = await newUser(gateway)
    const rule = firewallRule({ action: 'mask', pattern: WORD, replacement: '[masked]' })
    await newPolicy(gateway, { firewall: [rule] })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const body = (fields: object) => ({ model: 'gpt-4o', input: 'Hi', ...fields })
  const openai = { 'x-response-form': 'openai' }

  for (const [what, fields] of Object.entries(FIELDS))
    it(`of /v1/responses: ${what}`, async () => {
      const whole = await user.call('POST', '/v1/responses', body(fields), openai)
      expect(whole.status, JSON.stringify(whole.body)).to.equal(200)
      const { id } = whole.body
      const streamed = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body(fields), stream: true }),
      })
      const continued = { model: 'gpt-4o', previous_response_id: id, input: 'On' }
      const answers = [
        whole.body,
        await receivedText(streamed),
        (await user.call('GET', `/v1/responses/${id}`)).body,
        (await user.call('POST', `/v1/responses/${id}`, {})).body,
        (await user.call('GET', `/v1/responses/${id}/input_items`)).body,
        (await user.call('POST', '/v1/responses', continued)).body,
      ]
      for (const answer of answers) expect(JSON.stringify(answer)).not.to.contain(WORD)
      expect(JSON.stringify(answers)).to.match(/plain|masked|json_object/)
    })

  it('keeps tools as they were sent where nothing is masked', async () => {
    const tools = [
      { type: 'function', name: 'f', description: 'Does it.', parameters: { type: 'object' }, strict: true },
      {
        type: 'custom',
        name: 'c',
        description: 'Any.',
        format: { type: 'grammar', syntax: 'regex', definition: 'a+' },
      },
      { type: 'namespace', name: 'n', description: '', tools: [{ ...plain, strict: null }] },
    ]
    const { body: answer } = await user.call('POST', '/v1/responses', body({ tools }), openai)
    expect(answer.tools).to.deep.equal(tools)
  })

  it('of a compaction: the instructions and the messages that it keeps', async () => {
    const input = [
      { role: 'developer', content: `Mind ${WORD}` },
      { role: 'user', content: `One ${WORD}` },
      { role: 'assistant', content: 'Two' },
      { role: 'user', content: `Three ${WORD}` },
    ]
    const answer = await user.call('POST', '/v1/responses/compact', { model: 'gpt-4o', input })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    const kept = JSON.stringify(answer.body)
    expect(kept).to.contain('Mind [masked]').and.to.contain('Three [masked]').and.not.to.contain(WORD)
    expect(JSON.stringify(sandbox.requests.at(-1)?.body))
      .not.to.contain('Three')
      .and.not.to.contain(WORD)
  })

  for (const [path, request] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/messages', { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }],
  ] as const)
    it(`of ${path}: metadata`, async () => {
      const metadata = path === '/v1/messages' ? { user_id: WORD } : { a: WORD, b: 'kept' }
      const answer = await user.call('POST', path, { model: 'gpt-4o', ...request, metadata })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(JSON.stringify(answer.body)).to.contain('[masked]').and.not.to.contain(WORD)
    })

  it('leaves metadata as it is for conditions of the user, and for blocks', async () => {
    const other = await newUser(gateway)
    await other.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'blocked' }))
    const metadata = { a: 'blocked', b: WORD }
    const messages = [{ role: 'user', content: 'Hi' }]
    const answer = await other.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages, metadata })
    expect(answer.status).to.equal(200)
    expect(answer.body.metadata).to.include({ a: 'blocked', b: '[masked]' })
  })

  it('nothing of a request that was refused or failed', async () => {
    const all = Object.assign({}, ...Object.values(FIELDS), {
      tools: Object.values(FIELDS).flatMap((fields) => ('tools' in fields ? (fields.tools as object[]) : [])),
    })
    const blocking = await newPolicy(gateway, { priority: 9, firewall: [firewallRule({ pattern: WORD })] })
    const refused = await user.call('POST', '/v1/responses', { ...body(all), tools: [plain] })
    await blocking.remove()
    expect(refused.status).to.equal(403)
    const key = String(refused.headers.get('x-request-id')).replace('req_', 'resp_')
    const stored = await user.call('GET', `/v1/responses/${key}`)
    expect(stored.status).to.equal(200)
    expect(stored.body.status).to.equal('failed')
    expect(JSON.stringify(stored.body)).not.to.contain(WORD)
  })

  it('so that no file holds it, except the rule', async () => {
    const { data: policies } = (await asAdmin(gateway, 'GET', '/admin/policies')).body
    for (const { id } of policies) await asAdmin(gateway, 'DELETE', `/admin/policies/${id}`)
    await gateway.stop()
    for (const file of await readdir(gateway.dataDir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue
      const place = path.join(file.parentPath, file.name)
      const content = (await readFile(place)).toString('latin1')
      for (const found of content.matchAll(new RegExp(WORD, 'g'))) {
        const around = content.slice(Math.max(0, found.index - 400), found.index + 400)
        expect(around, place).to.match(/pattern|Firewall/)
      }
    }
  })
})
