import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  CHAT_DIALECTS,
  type Combination,
  combinations,
  FORMATS,
  type FormatName,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of any dialect and format
type Loose = any

/** A turn of a conversation, as every dialect can say it. */
type Turn =
  | { readonly role: 'system' | 'user' | 'assistant'; readonly text: string }
  | { readonly calls: readonly string[] }
  | { readonly results: readonly string[] }

const WITHOUT_TOOLS: readonly Turn[] = [
  { role: 'system', text: 'You are brief.' },
  { role: 'user', text: 'first question' },
  { role: 'assistant', text: 'first answer' },
  { role: 'system', text: 'reminder one' },
  { role: 'user', text: 'second question' },
  { role: 'system', text: 'reminder two' },
  { role: 'assistant', text: 'second answer ' },
  { role: 'user', text: 'third question' },
  { role: 'user', text: 'third question goes on' },
  { role: 'system', text: 'reminder three' },
  { role: 'system', text: 'reminder four' },
]

const WITH_TOOLS: readonly Turn[] = [
  { role: 'system', text: 'You are brief.' },
  { role: 'user', text: 'look at both' },
  { calls: ['call_a', 'call_b'] },
  { results: ['call_a', 'call_b'] },
  { role: 'system', text: 'reminder one' },
  { role: 'assistant', text: 'seen' },
  { role: 'user', text: 'again' },
  { calls: ['call_c'] },
  { results: ['call_c'] },
  { role: 'user', text: 'and then' },
  { role: 'system', text: 'reminder two' },
]

const TOOL = { name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } }

const WRITERS: Readonly<Record<string, (turns: readonly Turn[]) => object>> = {
  chat: (turns) => ({
    tools: [{ type: 'function', function: TOOL }],
    messages: turns.flatMap((turn): Loose[] => {
      if ('calls' in turn)
        return [
          {
            role: 'assistant',
            content: null,
            tool_calls: turn.calls.map((id) => ({
              id,
              type: 'function',
              function: { name: 'look', arguments: `{"at":"${id}"}` },
            })),
          },
        ]
      if ('results' in turn)
        return turn.results.map((id) => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` }))
      return [{ role: turn.role, content: turn.text }]
    }),
  }),
  messages: (turns) => ({
    tools: [{ name: 'look', input_schema: TOOL.parameters }],
    messages: turns.map((turn): Loose => {
      if ('calls' in turn)
        return {
          role: 'assistant',
          content: turn.calls.map((id) => ({ type: 'tool_use', id, name: 'look', input: { at: id } })),
        }
      if ('results' in turn)
        return {
          role: 'user',
          content: turn.results.map((id) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: `result of ${id}`,
          })),
        }
      return { role: turn.role, content: turn.text }
    }),
  }),
  responses: (turns) => ({
    tools: [{ type: 'function', ...TOOL }],
    input: turns.flatMap((turn): Loose[] => {
      if ('calls' in turn)
        return turn.calls.map((id) => ({
          type: 'function_call',
          call_id: id,
          name: 'look',
          arguments: `{"at":"${id}"}`,
        }))
      if ('results' in turn)
        return turn.results.map((id) => ({
          type: 'function_call_output',
          call_id: id,
          output: `result of ${id}`,
        }))
      return [{ type: 'message', role: turn.role === 'system' ? 'developer' : turn.role, content: turn.text }]
    }),
  }),
}

const listOf = (content: Loose): readonly Loose[] =>
  Array.isArray(content) ? content : content == null ? [] : [content]

/** What a provider received, as a list of blocks in the order in which it reads them. */
function blocksOf(format: FormatName, body: Loose): readonly string[] {
  const toBlocks = (role: string, blocks: readonly Loose[]) =>
    blocks.map((block) => `${role} ${JSON.stringify(block)}`)
  switch (format) {
    case 'anthropic':
      return [
        ...toBlocks('system', listOf(body.system)),
        ...body.messages.flatMap(({ role, content }: Loose) => toBlocks(role, listOf(content))),
      ]
    case 'gemini':
      return [
        ...toBlocks('system', body.systemInstruction?.parts ?? []),
        ...body.contents.flatMap(({ role, parts }: Loose) => toBlocks(role, parts)),
      ]
    case 'responses':
      return body.input.map((item: Loose) => JSON.stringify(item))
    default:
      return body.messages.map(({ prefix: _, ...message }: Loose) => JSON.stringify(message))
  }
}

/** A reply that Anthropic itself is asked to continue must not end in a space: there, it is trimmed. */
function isAskable(turns: readonly Turn[], isNative: boolean): boolean {
  const last = turns.at(-1)
  if (last === undefined || 'calls' in last || turns.length === 1) return false
  return !(isNative && 'role' in last && last.role === 'assistant')
}

/** Anthropic gets the turns of a request in its own format as they are, and may reject them. */
const isNative = ({ dialect, format }: Combination) => dialect === 'messages' && format === 'anthropic'

const DIALECTS = ['chat', 'messages', 'responses'] as const
const all = combinations(DIALECTS).filter(({ stream }) => !stream)

describe('order of messages', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  async function send(combination: Combination, body: object, headers = {}): Promise<Loose> {
    bench.calls.length = 0
    const asked = await bench.ask(combination, { body, headers })
    equal(asked.status, 200, asked.raw)
    equal(bench.calls.length, 1)
    return bench.calls[0]?.body
  }

  for (const combination of all) {
    for (const [name, conversation] of Object.entries({ texts: WITHOUT_TOOLS, tools: WITH_TOOLS })) {
      it(`begins as before when a message is added: ${combination.title}, ${name}`, async () => {
        const write = WRITERS[combination.dialect]!
        let previous: readonly string[] = []
        for (let length = 2; length <= conversation.length; length++) {
          const turns = conversation.slice(0, length)
          if (!isAskable(turns, isNative(combination))) continue
          const blocks = blocksOf(combination.format, await send(combination, write(turns)))
          deepEqual(blocks.slice(0, previous.length), previous, `with ${length} turns`)
          ok(blocks.length > previous.length, `with ${length} turns`)
          previous = blocks
        }
        const received = previous.join('\n')
        const texts = conversation.flatMap((turn) => ('text' in turn ? [turn.text.trim()] : []))
        const places = texts.map((text) => received.indexOf(text))
        deepEqual(
          places,
          places.toSorted((a, b) => a - b),
          received,
        )
        ok(!places.includes(-1), received)
      })
    }
  }

  for (const { title, ...combination } of all.filter((each) => !isNative(each))) {
    it(`places results of tools directly behind their calls: ${title}`, async () => {
      const turns: readonly Turn[] = [
        { role: 'user', text: 'look' },
        { calls: ['call_a', 'call_b'] },
        { role: 'system', text: 'in between' },
        { results: ['call_a', 'call_b'] },
      ]
      const body = await send(combination, WRITERS[combination.dialect]!(turns))
      const blocks = blocksOf(combination.format, body)
      const first = blocks.findIndex((block) => block.includes('result of call_a'))
      ok(blocks[first + 1]?.includes('result of call_b'), blocks.join('\n'))
      ok(/tool_use|functionCall|tool_calls|function_call/.test(blocks[first - 1] ?? ''), blocks.join('\n'))
      ok(blocks.some((block) => block.includes('in between')))
    })
  }

  it('keeps an instruction of a request for the same Claude model as Anthropic has it', async () => {
    const turns: readonly Turn[] = [
      { role: 'user', text: 'hi' },
      { role: 'system', text: 'reminder' },
    ]
    const model = FORMATS.anthropic.model.split(':')[1]
    const body = await send(
      { dialect: 'messages', format: 'anthropic', stream: false },
      { ...WRITERS.messages!(turns), model },
    )
    deepEqual(body.messages[1], { role: 'system', content: [{ type: 'text', text: 'reminder' }] })
  })

  it('lets the assistant speak between a tool and the user, for Mistral', async () => {
    const body = await send(
      { dialect: 'messages', format: 'mistral', stream: false },
      WRITERS.messages!(WITH_TOOLS),
    )
    for (const [index, { role }] of body.messages.entries())
      if (role === 'user') ok(body.messages[index - 1]?.role !== 'tool')
  })

  describe('cache control', () => {
    const control = { type: 'ephemeral', ttl: '1h' }
    const anthropic = { dialect: 'chat', format: 'anthropic', stream: false } as const
    const call = { id: 'call_a', type: 'function', function: { name: 'look', arguments: '{}' } }

    it('of whole messages is that of their last blocks', async () => {
      const body = await send(anthropic, {
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b' },
            ],
            cache_control: control,
          },
          { role: 'assistant', content: 'c', tool_calls: [call], cache_control: control },
          { role: 'tool', tool_call_id: 'call_a', content: 'd', cache_control: control },
          { role: 'system', content: 'e' },
        ],
      })
      const [user, assistant, results] = body.messages.map(({ content }: Loose) => content)
      deepEqual(
        user.map((block: Loose) => block.cache_control),
        [undefined, control],
      )
      deepEqual(
        assistant.map((block: Loose) => block.cache_control),
        [undefined, control],
      )
      deepEqual(
        results.map(({ type, cache_control }: Loose) => [type, cache_control]),
        [
          ['tool_result', control],
          ['text', undefined],
        ],
      )
    })

    it('of parts of a result is that of the result', async () => {
      const body = await send(anthropic, {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: null, tool_calls: [call] },
          {
            role: 'tool',
            tool_call_id: 'call_a',
            content: [{ type: 'text', text: 'd', cache_control: control }],
          },
        ],
      })
      deepEqual(body.messages[2].content, [
        {
          type: 'tool_result',
          tool_use_id: 'call_a',
          content: [{ type: 'text', text: 'd' }],
          cache_control: control,
        },
      ])
    })

    it('of a call is that of its block', async () => {
      const body = await send(anthropic, {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: null, tool_calls: [{ ...call, cache_control: control }] },
          { role: 'tool', tool_call_id: 'call_a', content: 'd' },
        ],
      })
      deepEqual(body.messages[1].content[0].cache_control, control)
    })

    it('of tools is kept, also inside of the function', async () => {
      const tools = [
        { type: 'function', function: { ...TOOL, name: 'a' }, cache_control: control },
        { type: 'function', function: { ...TOOL, name: 'b', cache_control: control } },
      ]
      const body = await send(anthropic, { tools })
      deepEqual(
        body.tools.map((tool: Loose) => tool.cache_control),
        [control, control],
      )
    })
  })

  it('covers all dialects that have lists of messages', () => {
    deepEqual(new Set(all.map(({ dialect }) => dialect)), new Set(DIALECTS))
    ok(DIALECTS.every((dialect) => dialect in CHAT_DIALECTS))
  })
})
