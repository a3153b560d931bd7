import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { createJudge } from '../support/openapi.ts'
import { MODELS, providersAt } from '../support/providers.ts'
import { ROOT } from '../support/root.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { skip } from '../support/skip.ts'
import { loadOpenAiJudge } from '../support/strict/openai-description.ts'
import {
  type AnswerKind,
  addRules,
  type RecordedAnswer,
  recordAnswers,
} from '../support/strict/record-answers.ts'

/** The components of /openapi.json that describe each kind of answer. */
const COMPONENTS: Readonly<Record<AnswerKind, string>> = {
  completion: 'ChatCompletion',
  chunk: 'ChatCompletionChunk',
  response: 'ModelResponse',
  event: 'ResponseStreamEvent',
  'input items': 'InputItemList',
  model: 'Model',
  models: 'ModelList',
  message: 'Message',
  'message event': 'MessageStreamEvent',
  'message error': 'AnthropicError',
  'text completion': 'TextCompletion',
  'text chunk': 'TextCompletionChunk',
  embeddings: 'EmbeddingList',
  moderation: 'Moderation',
  error: 'OpenAiError',
}

/** What OpenAI's Go client tags as required, null included. */
const REQUIRED_OF_RESPONSES = [
  ...[
    'id',
    'object',
    'created_at',
    'model',
    'output',
    'error',
    'incomplete_details',
    'instructions',
    'metadata',
  ],
  ...['parallel_tool_calls', 'temperature', 'tool_choice', 'tools', 'top_p', 'access_programs'],
]

describe('answers for strict clients', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  let answers: readonly RecordedAnswer[]

  before(async () => {
    sandbox = await startSandbox({})
    const settings = await withSettings(`${UNLIMITED}breaker: { min_requests: 1000, open_ms: 1 }\n`)
    gateway = await startGateway({ ...providersAt(sandbox), ...settings })
    answers = await recordAnswers(gateway)
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  /** Expects that at least one answer of every kind was recorded, and that none has issues. */
  function expectNoIssues(issuesOf: (answer: RecordedAnswer) => readonly string[]): void {
    expect(new Set(answers.map(({ kind }) => kind))).to.deep.equal(new Set(Object.keys(COMPONENTS)))
    const issues = answers.flatMap((answer) => issuesOf(answer).map((issue) => `${answer.name}: ${issue}`))
    expect(issues.slice(0, 10)).to.deep.equal([])
  }

  it('match the schemas of /openapi.json', async () => {
    const { compile } = createJudge((await gateway.call('GET', '/openapi.json')).body)
    const checks = new Map(
      Object.entries(COMPONENTS).map(([kind, name]) => [kind, compile('components', 'schemas', name)]),
    )
    expectNoIssues(({ kind, value }) => [checks.get(kind)?.(value) ?? []].flat())
  })

  it('have metadata that is a map of at most 16 strings', () => {
    const holders = answers.flatMap(({ value }) => [value, value.response])
    const maps = holders.map((holder) => holder?.metadata).filter((metadata) => metadata !== undefined)
    expect(maps).not.to.have.length(0)
    for (const metadata of maps) {
      expect(Object.keys(metadata).length).to.be.at.most(16)
      for (const value of Object.values(metadata)) expect(value).to.be.a('string')
    }
  })

  it("have every field that OpenAI's typed clients require of a response", () => {
    const shown = answers.flatMap(({ value }) =>
      value.object === 'response' ? [value] : (value.response ?? []),
    )
    expect(shown).not.to.have.length(0)
    for (const response of shown) expect(response).to.include.keys(REQUIRED_OF_RESPONSES)
  })

  it("give the caller's metadata back untouched, and the gateway's with types", () => {
    const tagged = answers.filter(({ name }) => name.includes('tagged text'))
    const whole = tagged.filter(({ kind }) => kind === 'completion' || kind === 'response')
    expect(whole).to.have.length(2 * Object.keys(MODELS).length)
    for (const { value } of whole) {
      expect(value.metadata).to.include({ provider: 'acme', routing_mode: 'mine', tenant: 't' })
      expect(value.signalbox.provider).to.be.oneOf(Object.keys(MODELS))
      expect(value.signalbox.rules_position).to.be.a('number')
      expect(value.signalbox.cost_usd).to.be.a('number')
      expect(value.signalbox.warnings).to.deep.include({ code: 'routing', message: 'Noted.' })
    }
  })

  it("have the form that OpenAI's client for .NET reads, whole, streamed and stored", async () => {
    const headers = { 'user-agent': 'OpenAI/2.15.0 (.NET 9.0.4; Linux)' }
    const ask = (body: object) => gateway.call('POST', '/v1/responses', { input: 'Hi', ...body }, headers)
    const whole = (await ask({ model: 'gpt-4o', metadata: { tenant: 't' } })).body
    const stored = (await gateway.call('GET', `/v1/responses/${whole.id}`, undefined, headers)).body
    const streamed = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'gpt-4o', input: 'Hi', metadata: { tenant: 't' }, stream: true }),
    })
    const events = (await streamed.text()).split('\n').filter((line) => line.startsWith('data: {'))
    const completed = JSON.parse(events.at(-1)?.slice('data: '.length) ?? '{}').response
    for (const response of [whole, stored, completed]) {
      expect(response.output[0].content[0].type).to.equal('output_text')
      expect(response.metadata).to.include({ tenant: 't', provider: 'openai' })
      for (const value of Object.values(response.metadata)) expect(value).to.be.a('string')
    }
  })

  it("have the form that a request's header names, and refuse other names", async () => {
    const ask = (form: string, path = '/v1/chat/completions') => {
      const body = { model: 'gpt-4o', input: 'Hi', messages: [{ role: 'user', content: 'Hi' }] }
      return gateway.call('POST', path, body, { 'x-response-form': form })
    }
    expect((await ask('interface')).body.metadata.rules_position).to.be.a('number')
    expect((await ask('openai')).body.metadata.rules_position).to.be.a('string')
    const own = (await ask('interface', '/v1/responses')).body
    expect(own.output[0].content[0].type).to.equal('text')
    const theirs = (await ask('openai', '/v1/responses')).body
    expect(theirs.output[0].content[0].type).to.equal('output_text')
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const { status, body } = await ask('xml', path)
      expect(status).to.equal(400)
      expect(body.error).to.include({ param: 'x-response-form', code: 'invalid_value' })
    }
  })

  it("match OpenAI's API description", async function () {
    const file = process.env.OPENAI_DESCRIPTION
    if (file === undefined) skip(this, 'OPENAI_DESCRIPTION names no openapi.json of openai/openai-openapi')
    const issuesOf = await loadOpenAiJudge(file)
    expectNoIssues((answer) => (answer.kind.startsWith('message') ? [] : issuesOf(answer)))
  })

  it("are read by OpenAI's Python SDK with strict validation", async function () {
    const python = process.env.STRICT_PYTHON
    if (python === undefined) skip(this, 'STRICT_PYTHON names no Python that has the package openai')
    const user = await newUser(gateway)
    await addRules(user)
    const program = fileURLToPath(new URL('test/clients/strict.py', ROOT))
    const { stdout } = await promisify(execFile)(
      python,
      [program, gateway.url, user.key, ...Object.values(MODELS)],
      { maxBuffer: 64 * 1024 * 1024 },
    )
    const { objects, faults } = JSON.parse(stdout)
    expect(objects).to.be.greaterThan(1000)
    expect(faults).to.deep.equal([])
  })
})
