import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, providersAt } from '../support/providers.ts'

const WORD = 'hush471'
const [begin, end] = ['hus', 'h471']

const user = (content: unknown) => ({ role: 'user', content })
const system = (content: unknown) => ({ role: 'system', content })
const reply = (content: unknown) => ({ role: 'assistant', content })
const text = (content: string) => ({ type: 'text', text: content })
const block = (anthropic: object) => ({ type: 'extra_content', extra_content: { anthropic } })
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
}
const result = { role: 'tool', tool_call_id: 'c', content: 'ok' }

/** Messages that some provider receives with the word in one piece. */
const DIVIDED: Readonly<Record<string, readonly object[]>> = {
  'two messages of the user': [user(`a ${begin}`), user(`${end} b`)],
  'three messages of the user': [user('hu'), user('sh4'), user('71')],
  'a text and a part of the next message': [user(begin), user([text(end)])],
  'messages around an empty reply': [user(begin), reply(''), user(end)],
  'messages around a blank reply': [user(begin), reply([text(' ')]), user(end)],
  'messages around a reply that is only a refusal': [
    user(begin),
    { role: 'assistant', content: null, refusal: 'no' },
    user(end),
  ],
  'messages around an empty reply with a refusal': [user(begin), { ...reply(''), refusal: 'no' }, user(end)],
  'messages around a reply with the text of another type of part': [
    user(begin),
    reply([{ type: 'refusal', refusal: ' ', text: 'no' }]),
    user(end),
  ],
  'messages around thinking, which is left out': [
    user(begin),
    reply([block({ type: 'thinking', thinking: 'no', text: 'no' })]),
    user(end),
  ],
  'messages around a block without a type': [user(begin), reply([block({ text: 'no' })]), user(end)],
  'a refusal and the next reply': [
    user('hello'),
    { role: 'assistant', content: null, refusal: begin },
    reply(end),
    user('go on'),
  ],
  'replies around a refusal that some providers leave out': [
    user('hello'),
    { ...reply(begin), refusal: 'no' },
    reply(end),
    user('go on'),
  ],
  'parts around a field that belongs to another type': [user([{ ...text(begin), refusal: 'no' }, text(end)])],
  'parts around a block that other providers do not receive': [
    user([text(begin), block(text('no')), text(end)]),
  ],
  'a text and a block whose part has a text': [user([text(begin), { ...block(text(end)), text: 'no' }])],
  'messages around a system message': [user(begin), system('be kind'), user(end)],
  'messages around the result of a tool': [user('hello'), call, user(begin), result, user(end)],
  'two replies': [user('hello'), reply(begin), reply(end), user('go on')],
  'two replies around an empty message': [user('hello'), reply(begin), user(''), reply(end), user('go on')],
  'a reply and its refusal': [user('hello'), { ...reply(begin), refusal: end }, user('go on')],
  'two system messages': [system(begin), system(end), user('hello')],
  'system messages far from each other': [
    system(begin),
    user('hello'),
    { role: 'developer', content: end },
    user('x'),
  ],
  'parts around a blank one': [user([text(begin), text(' \n'), text(end)])],
  'a text and a block': [user([text(begin), block(text(end))])],
  'the blocks of a search result in a tool result': [
    user([
      text('hello'),
      block({
        type: 'tool_result',
        tool_use_id: 'c',
        content: [{ type: 'search_result', source: 'a', title: 'b', content: [text(begin), text(end)] }],
      }),
    ]),
  ],
}

const UNDIVIDED: Readonly<Record<string, readonly object[]>> = {
  'a user and a reply': [user(begin), reply(end), user('hello')],
  'the user before and after a reply': [user(begin), reply('yes'), user(end)],
  'the user before and after a call': [user(begin), call, result, user(end)],
  'a system message and the user': [system(begin), user(end)],
}

describe('a word that is divided between texts that a provider receives as one', function () {
  this.timeout(120_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  let ruleId: number

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    gateway = await startGateway(providersAt(sandbox))
    const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: WORD }))
    ruleId = body.data.id
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const setAction = (action: string) => gateway.call('PATCH', `/v1/firewall-rules/${ruleId}`, { action })
  const ask = (messages: readonly object[], model = MODELS.openai, more = {}): Promise<Answer> =>
    gateway.call('POST', '/v1/chat/completions', { model, messages, ...more })

  describe('is refused', () => {
    for (const [what, messages] of Object.entries(DIVIDED)) {
      it(what, async () => {
        for (const [action, message] of [
          ['block', /^Request blocked by firewall rule "[^"]+"\.$/],
          ['mask', /across several values or messages\.$/],
        ] as const) {
          await setAction(action)
          const before = sandbox.requests.length
          const { status, body } = await ask(messages)
          expect(status, action).to.equal(403)
          expect(body.error.message).to.match(message)
          expect(sandbox.requests.length).to.equal(before)
        }
      })
    }
  })

  it('is refused in a prediction', async () => {
    const prediction = { type: 'content', content: [text(begin), text(end)] }
    for (const action of ['block', 'mask']) {
      await setAction(action)
      const before = sandbox.requests.length
      expect((await ask([user('hello')], MODELS.openai, { prediction })).status).to.equal(403)
      expect(sandbox.requests.length).to.equal(before)
    }
  })

  describe('is none in', () => {
    for (const [what, messages] of Object.entries(UNDIVIDED)) {
      it(what, async () => {
        await setAction('block')
        for (const model of Object.values(MODELS)) {
          const { status, body } = await ask(messages, model)
          expect(status, `${model}: ${JSON.stringify(body)}`).to.equal(200)
          expect(readingsOf(sandbox.requests.at(-1)?.body).join('\n'), model).not.to.contain(WORD)
        }
      })
    }

    it('the system message for Gemma, which receives it with that of the user', async () => {
      await setAction('block')
      const { status } = await ask([system(begin), user(end)], 'gemini:gemma-3-27b-it')
      expect(status).to.equal(200)
      expect(readingsOf(sandbox.requests.at(-1)?.body).join('\n')).not.to.contain(WORD)
    })
  })

  it('is not hidden by spaces in front of arguments that only some parsers skip', async () => {
    await setAction('block')
    const json = `{"q":"\\u0068${WORD.slice(1)}"}`
    for (const space of ['\ufeff', '\u00a0', '\u2003']) {
      const called = { ...call.tool_calls[0], function: { name: 'look', arguments: space + json } }
      for (const model of [MODELS.anthropic, MODELS.gemini]) {
        const before = sandbox.requests.length
        const { status } = await ask([user('hello'), { ...call, tool_calls: [called] }, result], model)
        expect([model, status]).to.deep.equal([model, 400])
        expect(sandbox.requests.length).to.equal(before)
      }
    }
  })

  it('is looked for in arguments with any white space of JSON, which are not refused', async () => {
    await setAction('block')
    for (const json of ['', ' ', '{}\n', ' \r\n\t{} ', '\ufeff', `\n{"q":"\\u0068${WORD.slice(1)}"}\n`]) {
      const called = { ...call.tool_calls[0], function: { name: 'look', arguments: json } }
      for (const model of [MODELS.anthropic, MODELS.gemini]) {
        const { status } = await ask([user('hello'), { ...call, tool_calls: [called] }, result], model)
        expect(status, `${model} ${JSON.stringify(json)}`).to.equal(json.includes('q') ? 403 : 200)
      }
    }
  })

  it('is masked if all of it is in one of several messages', async () => {
    await setAction('mask')
    for (const model of Object.values(MODELS)) {
      const messages = [system('be kind'), system(`a ${WORD}`), user('hello'), user(`a ${WORD} b`)]
      const { status } = await ask(messages, model)
      expect(status, model).to.equal(200)
      const received = JSON.stringify(sandbox.requests.at(-1)?.body)
      expect(received.split('[redacted]'), model).to.have.length(3)
      expect(received).not.to.contain(WORD)
    }
  })
})

describe('a mask whose result makes a match with other messages', () => {
  it('is refused, because nothing in them can be replaced', async () => {
    const sandbox = await startSandbox({ record: 100 })
    const gateway = await startGateway(providersAt(sandbox))
    const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: WORD }))
    const ask = async (replacement: string, contents: readonly string[]) => {
      await gateway.call('PATCH', `/v1/firewall-rules/${body.data.id}`, { replacement })
      const messages = contents.map(user)
      return gateway.call('POST', '/v1/chat/completions', { model: MODELS.anthropic, messages })
    }
    for (const [replacement, contents] of [
      ['', [begin, WORD, end]],
      ['', [`a ${begin}${WORD}`, `${end} b`]],
      [begin, [`a ${WORD}`, `${end} b`]],
      [end, [begin, `${WORD} b`]],
    ] as const) {
      const before = sandbox.requests.length
      const answer = await ask(replacement, contents)
      expect(answer.status, contents.join()).to.equal(403)
      expect(answer.body.error.message).to.match(/across several values or messages\.$/)
      expect(sandbox.requests.length).to.equal(before)
    }
    expect((await ask('', ['hello', WORD, end])).status).to.equal(200)
    expect(JSON.stringify(sandbox.requests.at(-1)?.body)).not.to.contain(WORD)
    await gateway.stop()
    await sandbox.close()
  })
})

describe('a mask of blank lines', () => {
  it('is applied, and does not match those that the gateway adds between system messages', async () => {
    const sandbox = await startSandbox({ record: 100 })
    const gateway = await startGateway(providersAt(sandbox))
    const rule = { type: 'regex', pattern: '\\n{2,}', action: 'mask', replacement: '|' }
    await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody(rule))
    for (const messages of [
      [system('be kind'), system('be brief'), user('a\n\nb')],
      [system([text('be kind'), text('be brief')]), system(' '), user('a\n\nb'), reply('yes'), user('go on')],
    ]) {
      const body = { model: MODELS.openai, messages }
      const answer = await gateway.call('POST', '/v1/chat/completions', body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(JSON.stringify(sandbox.requests.at(-1)?.body)).to.contain('a|b')
    }
    await gateway.stop()
    await sandbox.close()
  })
})

/** Every text that a provider received, and the texts of each list, joined. */
function readingsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) {
    const texts = value.flatMap((item) => (typeof item?.text === 'string' ? [item.text] : []))
    return [...value.flatMap(readingsOf), texts.join('')]
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(readingsOf) : []
}
