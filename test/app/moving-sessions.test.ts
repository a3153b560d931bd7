import { expect } from 'chai'
import {
  type Combination,
  combinations,
  encodeReply,
  FORMAT_NAMES,
  type FormatName,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'
import { readVectors } from '../support/vectors.ts'

const TOOL = { type: 'object', properties: { city: { type: 'string' } } }

interface HostedItem {
  readonly item: { readonly type: string }
  readonly text: string | null
}

const ITEMS = readVectors<readonly HostedItem[]>('hosted-items')

/** Newer shapes of items that every provider gets. */
const SHAPES: readonly object[] = [
  { role: 'user', content: 'No type' },
  { type: 'message', role: 'user', id: null, status: null, content: [{ type: 'input_text', text: 'Hm' }] },
  { type: 'reasoning', summary: [], content: null, encrypted_content: null },
  { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: null, status: null },
  {
    type: 'message',
    role: 'assistant',
    id: null,
    status: null,
    phase: 'commentary',
    content: [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }],
  },
]

const BLOCKS =
  readVectors<readonly { readonly block: object; readonly text: string | null }[]>('hosted-blocks')

/** How a failed tool is marked. */
const MARKS: Readonly<Record<FormatName, string>> = {
  openai: '[tool error]',
  responses: '[tool error]',
  compatible: '[tool error]',
  mistral: '[tool error]',
  deepseek: '[tool error]',
  anthropic: '"is_error":true',
  gemini: '"error":',
}

const TOOL_FORMS: readonly (readonly [string, object, unknown])[] = [
  ['the flat form', { type: 'function', name: 'get_weather', parameters: TOOL }, 'auto'],
  ["Anthropic's form", { name: 'get_weather', input_schema: TOOL }, { type: 'auto' }],
  ["Anthropic's form, with a type", { type: 'custom', name: 'get_weather', input_schema: TOOL }, 'auto'],
]

const OTHERS = FORMAT_NAMES.filter((format) => format !== 'anthropic')

describe('a session that began elsewhere', () => {
  let bench: TranslationBench

  before(async () => {
    bench = await startTranslationBench()
    bench.respond((call) => encodeReply(call, {}))
  })
  after(() => bench.close())

  const lastBody = () => JSON.stringify(bench.calls.at(-1)!.body)

  describe('with the Responses API', () => {
    const cases = combinations(['responses'])

    for (const { title, ...combination } of cases) {
      it(`goes on after the items of other tools: ${title}`, async () => {
        const input = [
          { role: 'user', content: 'Begin' },
          ...ITEMS.map(({ item }) => item),
          { type: 'function_call', call_id: 'f1', name: 'get_weather', arguments: '{}' },
          { type: 'local_shell_call', call_id: 'l2', action: { type: 'exec', command: ['second'] } },
          { type: 'local_shell_call_output', id: 'l2', output: 'second-output' },
          { type: 'function_call_output', call_id: 'f1', output: 'Rain' },
          { role: 'user', content: 'And now?' },
        ]
        const tools = [{ type: 'function', name: 'get_weather', parameters: TOOL }]
        const asked = await bench.ask(combination, { body: { input, tools } })
        expect([asked.status, asked.text], asked.raw).to.deep.equal([200, 'Hello.'])
        const sent = lastBody()
        for (const { text } of ITEMS) if (text !== null) expect(sent).to.include(text)
        expect(sent).not.to.include('aGVsbG8=')
        expect(sent.split('ZHJhd24='), 'sent as an image, not in the text').to.have.length(2)
        for (const { item, text } of ITEMS)
          if (text === null) expect(asked.warnings.join('\n')).to.include(item.type)
        expect(sent.indexOf('Rain')).to.be.lessThan(sent.indexOf('second-output'))
      })

      it(`takes newer shapes of items: ${title}`, async () => {
        const input = [...SHAPES, { role: 'user', content: 'And now?' }]
        const asked = await bench.ask(combination, { body: { input } })
        expect([asked.status, asked.text], asked.raw).to.deep.equal([200, 'Hello.'])
      })
    }

    it('does not lose what is referred to and not found', async () => {
      for (const id of ['msg_1', 'fc_1']) {
        const body = { input: [{ type: 'item_reference', id }] }
        const asked = await bench.ask({ dialect: 'responses', format: 'openai', stream: false }, { body })
        expect([asked.status, asked.error.param]).to.deep.equal([400, 'input[0]'])
      }
    })
  })

  describe('with Messages', () => {
    for (const { title, ...combination } of combinations(['messages'], OTHERS))
      it(`goes on after the blocks of Anthropic's tools: ${title}`, async () => {
        const messages = [
          { role: 'user', content: 'Begin' },
          {
            role: 'assistant',
            content: [...BLOCKS.map(({ block }) => block), { type: 'text', text: 'Done.' }],
          },
          { role: 'user', content: 'And now?' },
        ]
        const asked = await bench.ask(combination, { body: { messages } })
        expect([asked.status, asked.text], asked.raw).to.deep.equal([200, 'Hello.'])
        const sent = lastBody()
        for (const { text } of BLOCKS) if (text !== null) expect(sent).to.include(text)
        expect(sent).not.to.include('secret-')
        for (const type of ['container_upload', 'hologram'])
          expect(asked.warnings.join('\n')).to.include(type)
      })

    for (const { title, ...combination } of combinations(['messages']))
      for (const content of ['No such city.', [{ type: 'text', text: 'No such city.' }], undefined])
        it(`says that a tool failed, once: ${title}, ${JSON.stringify(content)}`, async () => {
          const tool = { type: 'tool_result', tool_use_id: 'c1', is_error: true }
          const messages = [
            { role: 'user', content: 'Weather?' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'get_weather', input: {} }] },
            { role: 'user', content: [content === undefined ? tool : { ...tool, content }] },
          ]
          const tools = [{ name: 'get_weather', input_schema: TOOL }]
          const asked = await bench.ask(combination, { body: { messages, tools } })
          expect(asked.status, asked.raw).to.equal(200)
          expect(asked.warnings).to.deep.equal([])
          const sent = lastBody()
          expect(sent.split(MARKS[combination.format]), sent).to.have.length(2)
          if (content !== undefined) expect(sent.split('No such city.')).to.have.length(2)
        })
  })

  describe('with chat completions', () => {
    const chat = combinations(['chat'])

    for (const { title, ...combination } of chat) {
      it(`goes on after replies of other services: ${title}`, async () => {
        const messages = [
          { role: 'user', content: 'Begin' },
          {
            role: 'assistant',
            content: 'Done.',
            refusal: null,
            annotations: [{ type: 'url_citation', url_citation: { url: 'https://a' } }],
            function_call: null,
            audio: null,
            reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
            images: [],
          },
          { role: 'user', content: 'And now?' },
        ]
        const asked = await bench.ask(combination, { body: { messages } })
        expect([asked.status, asked.text], asked.raw).to.deep.equal([200, 'Hello.'])
      })

      it(`answers a body of the Responses API in its own form: ${title}`, async () => {
        const body = {
          messages: undefined,
          instructions: 'Be brief.',
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] }],
          tools: [{ type: 'function', name: 'get_weather', parameters: TOOL }],
        }
        const asked = await bench.ask(combination, { body })
        expect([asked.status, asked.text], asked.raw).to.deep.equal([200, 'Hello.'])
        const sent = lastBody()
        for (const text of ['Be brief.', 'Hello there', 'get_weather']) expect(sent).to.include(text)
      })

      for (const [form, tool, tool_choice] of TOOL_FORMS)
        it(`takes tools in ${form}: ${title}`, async () => {
          const asked = await bench.ask(combination, { body: { tools: [tool], tool_choice } })
          expect(asked.status, asked.raw).to.equal(200)
          expect(lastBody()).to.include('get_weather').and.include('city')
        })
    }
  })

  describe('with the body of another endpoint', () => {
    const HINTS: readonly (readonly [Combination['dialect'], object, string])[] = [
      ['chat', { system: 'Be brief.' }, '/v1/messages'],
      [
        'responses',
        { input: undefined, messages: [{ role: 'user', content: 'Hi' }] },
        '/v1/chat/completions',
      ],
      ['chat', { messages: undefined, input: 'Hi', previous_response_id: 'resp_1' }, '/v1/responses'],
    ]
    for (const [dialect, body, path] of HINTS)
      it(`is told where it belongs: ${dialect}, ${JSON.stringify(body)}`, async () => {
        const asked = await bench.ask({ dialect, format: 'openai', stream: false }, { body })
        expect(asked.status).to.equal(400)
        expect(asked.error.message).to.include(path)
      })
  })
})
