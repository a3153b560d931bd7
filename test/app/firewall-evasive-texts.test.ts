import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { MODELS } from '../support/providers.ts'
import { openResponseSocket } from '../support/response-socket.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const WORD = 'hush471'
const FOREIGN_WORD = 'Größenwahn'

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const texts = (...pieces: readonly string[]) => pieces.map((text) => ({ type: 'text', text }))
const file = (file_data: string) => user([{ type: 'file', file: { filename: 'a.txt', file_data } }])
const encoded = (bytes: Buffer | string) => Buffer.from(bytes as string).toString('base64')
const plainFile = (bytes: Buffer | string) => file(`data:text/plain;base64,${encoded(bytes)}`)
const percentEncoded = (text: string) =>
  text.replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
const withParameters = (parameters: object) => ({
  ...user('hello'),
  tools: [{ type: 'function', function: { name: 'look', parameters } }],
})
const [begin, end] = [WORD.slice(0, 3), WORD.slice(3)]
/** Three letters are four characters of base64. */
const filler = 'filler '.repeat(3)

/** Texts that a provider can read, in forms that hide them from a search of the request. */
const CHAT_BODIES: Readonly<Record<string, object>> = {
  'a word in place of a number in a schema': withParameters({ type: 'object', minimum: WORD }),
  'a text file in UTF-8 behind the mark of UTF-16': plainFile(
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`a ${WORD} b`)]),
  ),
  'a text file behind the mark of UTF-16 with high bytes first': plainFile(
    Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(`a ${WORD} b`)]),
  ),
  'a text file in UTF-8 with a byte that is not': plainFile(
    Buffer.concat([Buffer.from(`a ${FOREIGN_WORD} b`), Buffer.from([0xff])]),
  ),
  'a text file in Latin-1': plainFile(Buffer.from(`a ${FOREIGN_WORD} b`, 'latin1')),
  'a text file in UTF-16 without a mark': plainFile(Buffer.from(`a${FOREIGN_WORD}b`, 'utf16le')),
  'a text file behind base64 that has ended': file(
    `data:text/plain;base64,${encoded(filler).slice(0, -1)}=${encoded(`a ${WORD} b`)}`,
  ),
  'a text file behind much padding': file(
    `data:text/plain;base64,QQ${'='.repeat(500)}${encoded(`a ${WORD} b`)}`,
  ),
  'a text file in base64 with a = inside': file(
    `data:text/plain;base64,${encoded(`a ${WORD} b`).replace(/^(.{6})/, '$1=')}`,
  ),
  'a text file in base64 with a % before two hexadecimal digits, which decoders skip': file(
    `data:text/plain;base64,${encoded(`a ${WORD} b`).replace(/[0-9a-f]{2}/i, '%$&')}`,
  ),
  'a text file in base64 with a - inside, which decoders skip': file(
    `data:text/plain;base64,${encoded(`a ${WORD} b`).replace(/^(.{6})/, '$1-')}`,
  ),
  'a text file in percent-encoded base64': file(
    `data:text/plain;base64,${percentEncoded(encoded(`a ${WORD} b`))}`,
  ),
  'a percent-encoded text file that is not UTF-8': file(`data:text/plain,%ff%20${percentEncoded(WORD)}`),
  'a percent-encoded text file with a lone %': file(`data:text/plain,100%%20${percentEncoded(WORD)}`),
  'a data URL behind white space': file(` data:text/plain;base64,${encoded(`a ${WORD} b`)}`),
  'a text file in base64 with line breaks': file(
    encoded(`a ${WORD} b ${filler.repeat(20)}`).replace(/.{76}/g, '$&\r\n'),
  ),
  'an SVG image behind a control character': user([
    {
      type: 'image_url',
      image_url: { url: `data:image/svg+xml;base64,${encoded(`\x01<svg>${WORD}</svg>`)}` },
    },
  ]),
  'a text that begins like an image': file(
    `data:application/x-yaml;base64,${encoded(`BM\x01\x01\x01\x01\0\0\0\0 ${WORD}`)}`,
  ),
  'a word that is divided between two parts': user(texts(`a ${begin}`, `${end} b`)),
  'a word that is divided between parts of the system prompt': {
    messages: [{ role: 'system', content: texts(begin, end) }, ...user('hello').messages],
  },
  'a word that is divided between parts of a tool result': {
    messages: [
      ...user('hello').messages,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: texts(begin, end) },
    ],
  },
}

const MISTRAL_BODY = user([
  { type: 'document_url', document_url: `data:text/plain;base64,${encoded(`a ${WORD} b`)}` },
])

const reply = (...content: readonly object[]) => ({
  max_tokens: 100,
  messages: [...user('hello').messages, { role: 'assistant', content }, ...user('go on').messages],
})
const DIVIDED_BLOCKS = [
  { type: 'document', source: { type: 'content', content: texts(begin, end) } },
  { type: 'search_result', source: 'https://example.com', title: 'a title', content: texts(begin, end) },
]
const MESSAGES_BODY = reply(...texts(begin, end))
/** Other providers get thinking only with the calls behind it. */
const THINKING_BODY = {
  max_tokens: 100,
  messages: [
    ...user('hello').messages,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: begin, signature: 'S'.repeat(80) },
        { type: 'thinking', thinking: end, signature: 'S'.repeat(80) },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
      ],
    },
    ...user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }]).messages,
  ],
}

describe('the firewall finds', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  const ids: number[] = []

  useSandboxGateway(100, (...started) => {
    ;[sandbox, gateway] = started
  })

  afterEach(async () => {
    for (const id of ids.splice(0)) await gateway.call('DELETE', `/v1/firewall-rules/${id}`)
  })

  async function addRules(action: string): Promise<void> {
    for (const pattern of [WORD, FOREIGN_WORD]) {
      const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ action, pattern }))
      ids.push(body.data.id)
    }
  }

  const ask = (path: string, model: string | undefined, body: object) =>
    gateway.call('POST', path, { model, ...body })

  async function expectRefusal(work: () => Promise<Answer>): Promise<void> {
    await addRules('block')
    const before = sandbox.requests.length
    const { status, headers, body } = await work()
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal([
      403,
      'firewall_blocked',
    ])
    expect(sandbox.requests.length).to.equal(before)
  }

  for (const [what, body] of Object.entries(CHAT_BODIES)) {
    it(what, async () => {
      await expectRefusal(() => ask('/v1/chat/completions', MODELS.openai, body))
    })

    it(`${what}, which no provider receives when it is masked`, async () => {
      await addRules('mask')
      for (const model of Object.values(MODELS)) {
        const before = sandbox.requests.length
        const { status } = await ask('/v1/chat/completions', model, body)
        expect(status).to.be.oneOf([200, 400, 403])
        for (const { body: received } of sandbox.requests.slice(before)) {
          const readable = readingsOf(received).join('\n')
          expect(readable).not.to.contain(WORD)
          expect(readable).not.to.contain(FOREIGN_WORD)
        }
      }
    })
  }

  it('a text document for Mistral', async () => {
    await expectRefusal(() => ask('/v1/chat/completions', MODELS.mistral, MISTRAL_BODY))
  })

  it('a word that is divided between parts of an earlier reply, which other providers get as one text', async () => {
    for (const model of [MODELS.openai, MODELS.anthropic])
      await expectRefusal(() => ask('/v1/messages', model, MESSAGES_BODY))
  })

  it('a word that is divided between the blocks of a document or of a search result', async () => {
    for (const block of DIVIDED_BLOCKS) {
      const body = { max_tokens: 100, ...user([block]) }
      await expectRefusal(() => ask('/v1/messages', MODELS.anthropic, body))
    }
  })

  it('such a word, which no provider receives when it is masked', async () => {
    await addRules('mask')
    const before = sandbox.requests.length
    for (const block of DIVIDED_BLOCKS) {
      const { status } = await ask('/v1/messages', MODELS.anthropic, { max_tokens: 100, ...user([block]) })
      expect(status).to.equal(403)
    }
    expect(sandbox.requests.length).to.equal(before)
  })

  it('no word in two blocks of thinking, which stay apart for other providers', async () => {
    await addRules('block')
    const { status } = await ask('/v1/messages', MODELS.deepseek, THINKING_BODY)
    expect(status).to.equal(200)
    expect(JSON.stringify(sandbox.requests.at(-1)?.body)).to.contain(`${begin}\\n${end}`)
  })

  it('a word that is divided between parts of the input of a response', async () => {
    const content = [begin, end].map((text) => ({ type: 'input_text', text }))
    await expectRefusal(() => ask('/v1/responses', MODELS.openai, { input: [{ role: 'user', content }] }))
  })

  it('a word in an earlier response that was allowed then', async () => {
    const { body: first } = await ask('/v1/responses', MODELS.openai, { input: `It is ${WORD}.` })
    const next = { input: 'Go on.', previous_response_id: first.id }
    await expectRefusal(() => ask('/v1/responses', MODELS.openai, next))
  })

  it('a word in a message of a WebSocket', async () => {
    await addRules('block')
    const before = sandbox.requests.length
    const { socket, create } = await openResponseSocket(gateway.url, gateway.demoKey)
    const events = await create({ model: MODELS.openai, input: [{ role: 'user', content: `a ${WORD}` }] })
    socket.close()
    expect(JSON.stringify(events.at(-1))).to.contain('Request blocked by firewall rule')
    expect(sandbox.requests.length).to.equal(before)
  })
})

/** What a provider could read in a request: files in each of the usual encodings, and texts joined. */
function readingsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value, ...readFile(value)]
  if (Array.isArray(value)) return [...value.flatMap(readingsOf), textsOf(value).join('')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(readingsOf) : []
}

function textsOf(parts: readonly unknown[]): readonly string[] {
  return parts.flatMap((part) => {
    if (typeof part !== 'object' || part === null || !('text' in part)) return []
    return typeof part.text === 'string' ? [part.text] : []
  })
}

function readFile(text: string): readonly string[] {
  const data = text.slice(text.indexOf(',') + 1)
  const base64 = data.replace(/%([\da-f]{2})/g, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  // Some decoders end at a `=`, some skip it.
  const forms = [base64, base64.replaceAll('=', '')].map((form) => Buffer.from(form, 'base64'))
  forms.push(Buffer.concat(base64.split('=').map((part) => Buffer.from(part, 'base64'))))
  const encodings = ['utf8', 'latin1', 'utf16le'] as const
  return [base64, ...forms.flatMap((bytes) => encodings.map((encoding) => bytes.toString(encoding)))].map(
    (reading) => reading.replaceAll('\0', ''),
  )
}
