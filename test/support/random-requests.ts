import type { Random } from './random.ts'

// Random requests that are valid in a client's dialect, but not at every provider.

export type ToolDialect = 'chat' | 'messages' | 'responses'

interface RandomCall {
  readonly id: string
  readonly name: string
}

/** A valid request with tools, a history of calls, and parameters of the dialect. */
export function randomRequest(random: Random, dialect: ToolDialect): object {
  const names = [...new Set(listOf(random, 1 + random.integer(4), () => randomName(random)))]
  const calls = [...new Set(listOf(random, random.integer(4), () => randomId(random)))].map((id) => ({
    id,
    name: random.pick(names),
  }))
  const hasTools = random.chance(0.8)
  const tools = hasTools ? names.map((name) => ({ name, schema: randomSchema(random) })) : []
  const choice = hasTools && random.chance(0.3) ? random.pick(names) : undefined
  return { ...REQUESTS[dialect](random, tools, calls, choice), ...PARAMETERS[dialect](random) }
}

function listOf<Item>(random: Random, count: number, create: (random: Random) => Item): readonly Item[] {
  return Array.from({ length: count }, () => create(random))
}

function randomName(random: Random): string {
  const characters = random.pick(['abcXYZ019_-', 'abc.:/ ', 'aé世🙂_', '01-9ab'])
  const length = random.pick([1, 5, 30, 63, 64, 65, 100, 128, 129, 200])
  const start = random.chance(0.3) ? 'mcp__server__' : ''
  return start + listOf(random, length, () => random.pick([...characters])).join('')
}

function randomId(random: Random): string {
  const length = random.pick([1, 9, 24, 40, 41, 64, 65, 150])
  return (
    random.pick(['call_', 'toolu_', 'fc|', 'functions.x:']) + String(random.integer(1e9)).padEnd(length, 'z')
  )
}

function randomSchema(random: Random): object {
  const names = listOf(random, 1 + random.integer(3), () => random.pick(['a', 'b', 'kind', 'limit']))
  const leaf = () =>
    random.pick([{ type: 'string' }, { type: 'number', minimum: 1 }, { const: 'x' }, { enum: ['p', 'q'] }])
  const properties = Object.fromEntries(names.map((name) => [name, leaf()]))
  const object = { type: 'object', properties, ...(random.chance(0.5) && { required: [names[0]] }) }
  return random.pick<object>([
    object,
    { ...object, additionalProperties: false },
    { type: 'object' },
    { ...object, anyOf: names.map((name) => ({ required: [name] })) },
    { oneOf: [object, { ...object, properties: { other: leaf() } }] },
    { ...object, allOf: [{ required: [names[0]] }], not: { required: ['z'] } },
    { $ref: '#/$defs/Args', $defs: { Args: object } },
  ])
}

/** The fields of a request about its tools and messages. */
type BuildRequest = (
  random: Random,
  tools: readonly { readonly name: string; readonly schema: object }[],
  calls: readonly RandomCall[],
  choice: string | undefined,
) => object

const REQUESTS: Readonly<Record<ToolDialect, BuildRequest>> = {
  chat(random, tools, calls, choice) {
    const mark = () => (random.chance(0.3) ? { cache_control: { type: 'ephemeral' } } : {})
    return {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark() }] },
        {
          role: 'user',
          content: [{ type: 'text', text: 'Go', ...mark() }],
          ...mark(),
          ...(random.chance(0.3) && { name: randomName(random) }),
        },
        ...(calls.length === 0
          ? []
          : [
              {
                role: 'assistant',
                content: null,
                tool_calls: calls.map(({ id, name }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: '{}' },
                })),
              },
              ...calls.map(({ id, name }) => ({
                role: 'tool',
                tool_call_id: id,
                name,
                content: 'done',
                ...mark(),
              })),
              { role: 'user', content: [{ type: 'text', text: 'Go on', ...mark() }] },
            ]),
      ],
      ...(tools.length > 0 || random.chance(0.5)
        ? {
            tools: tools.map(({ name, schema }) => ({
              type: 'function',
              ...mark(),
              function: { name, parameters: schema, ...(random.chance(0.2) && { strict: true }) },
            })),
          }
        : {}),
      ...(choice !== undefined && { tool_choice: { type: 'function', function: { name: choice } } }),
    }
  },
  messages: (random, tools, calls, choice) => ({
    messages: [
      { role: 'user', content: 'Go' },
      ...(calls.length === 0
        ? []
        : [
            { role: 'assistant', content: calls.map((call) => ({ type: 'tool_use', input: {}, ...call })) },
            {
              role: 'user',
              content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
            },
          ]),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, schema }) => ({
        name,
        input_schema: { ...schema, type: 'object' },
        ...(random.chance(0.2) && { strict: true }),
      })),
    }),
    ...(choice !== undefined && { tool_choice: { type: 'tool', name: choice } }),
  }),
  responses: (random, tools, calls, choice) => ({
    input: [
      { type: 'message', role: 'user', content: 'Go' },
      ...calls.map(({ id, name }) => ({ type: 'function_call', call_id: id, name, arguments: '{}' })),
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, schema }) => ({
        type: 'function',
        name,
        parameters: schema,
        strict: random.chance(0.2),
      })),
    }),
    ...(choice !== undefined && { tool_choice: { type: 'function', name: choice } }),
  }),
}

const PARAMETERS: Readonly<Record<ToolDialect, (random: Random) => object>> = {
  chat: (random) => ({
    ...(random.chance(0.3) && { stop: listOf(random, random.integer(20), () => `s${random.integer(1e6)}`) }),
    ...(random.chance(0.3) && { seed: random.pick([0, -1, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER]) }),
    ...(random.chance(0.3) && { user: randomId(random) }),
    ...(random.chance(0.3) && { prompt_cache_key: randomId(random) }),
    ...(random.chance(0.3) && { temperature: random.integer(20) / 10, top_p: 0.5 }),
    ...(random.chance(0.3) && { parallel_tool_calls: random.chance(0.5) }),
    ...(random.chance(0.2) && {
      store: true,
      metadata: { [randomId(random)]: randomId(random), n: 'n'.repeat(600) },
    }),
    ...(random.chance(0.3) && { stream_options: { include_usage: true } }),
  }),
  messages: (random) => ({
    ...(random.chance(0.3) && {
      stop_sequences: listOf(random, 1 + random.integer(20), () => `s${random.integer(1e6)}`),
    }),
    ...(random.chance(0.3) && { metadata: { user_id: randomId(random) } }),
    ...(random.chance(0.3) && { temperature: random.integer(10) / 10 }),
  }),
  responses: (random) => ({
    ...(random.chance(0.3) && { user: randomId(random) }),
    ...(random.chance(0.3) && { prompt_cache_key: randomId(random) }),
    ...(random.chance(0.3) && { parallel_tool_calls: random.chance(0.5) }),
    ...(random.chance(0.3) && { temperature: random.integer(20) / 10 }),
  }),
}
