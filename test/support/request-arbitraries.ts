import fc from 'fast-check'

// Requests that are valid in a client's dialect, but not at every provider.

export type ToolDialect = 'chat' | 'messages' | 'responses'

const CHARACTERS = ['abcXYZ019_-', 'abc.:/ ', 'aé世🙂_', '01-9ab']

const name = fc
  .tuple(fc.constantFrom(...CHARACTERS), fc.constantFrom(1, 5, 30, 63, 64, 65, 100, 128, 129, 200))
  .chain(([characters, length]) => {
    const unit = fc.constantFrom(...characters)
    const text = fc.string({ unit, minLength: length, maxLength: length })
    return fc.tuple(fc.constantFrom('', '', 'mcp__server__'), text)
  })
  .map((parts) => parts.join(''))

const id = fc
  .tuple(
    fc.constantFrom('call_', 'toolu_', 'fc|', 'functions.x:'),
    fc.nat(1e9),
    fc.constantFrom(1, 9, 24, 40, 41, 64, 65, 150),
  )
  .map(([start, number, length]) => start + String(number).padEnd(length, 'z'))

const leaf = fc.constantFrom<object>(
  { type: 'string' },
  { type: 'number', minimum: 1 },
  { const: 'x' },
  { enum: ['p', 'q'] },
)
const fields = fc.uniqueArray(fc.constantFrom('a', 'b', 'kind', 'limit'), { minLength: 1, maxLength: 3 })

const schema = fc
  .tuple(fields, leaf, leaf, fc.boolean(), fc.nat(6))
  .map(([names, leaf, other, isRequired, form]) => {
    const properties = Object.fromEntries(names.map((name) => [name, leaf]))
    const object = { type: 'object', properties, ...(isRequired && { required: names.slice(0, 1) }) }
    const forms: readonly object[] = [
      object,
      { ...object, additionalProperties: false },
      { type: 'object' },
      { ...object, anyOf: names.map((name) => ({ required: [name] })) },
      { oneOf: [object, { ...object, properties: { other } }] },
      { ...object, allOf: [{ required: names.slice(0, 1) }], not: { required: ['z'] } },
      { $ref: '#/$defs/Args', $defs: { Args: object } },
    ]
    return forms[form]!
  })

/** Tools, a history of calls, and a tool that must be called. */
const conversation = fc.uniqueArray(name, { minLength: 1, maxLength: 4 }).chain((names) => {
  const tools = names.map((name) => fc.record({ name: fc.constant(name), schema, strict: fc.boolean() }))
  const call = fc.record({ id, name: fc.constantFrom(...names) })
  return fc.record({
    tools: fc.tuple(fc.nat(4), fc.tuple(...tools)).map(([n, tools]) => (n === 0 ? [] : tools)),
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
    choice: fc.option(fc.constantFrom(...names), { nil: undefined }),
  })
})

const cacheMark = fc.constantFrom<object>({}, {}, { cache_control: { type: 'ephemeral' } })

/** Fields of which each may be missing. */
const some = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record(fields, { requiredKeys: [] })

const stops = (min: number) =>
  fc.array(
    fc.nat(1e6).map((n) => `s${n}`),
    { minLength: min, maxLength: 20 },
  )
const tenths = (max: number) => fc.nat(max).map((n) => n / 10)

const chat = fc
  .tuple(
    conversation,
    fc.array(cacheMark, { minLength: 12, maxLength: 12 }),
    some({ name }),
    fc.boolean(),
    some({
      stop: stops(0),
      seed: fc.constantFrom(0, -1, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER),
      user: id,
      prompt_cache_key: id,
      temperature: tenths(19),
      parallel_tool_calls: fc.boolean(),
      metadata: fc.tuple(id, id).map(([key, value]) => ({ [key]: value, n: 'n'.repeat(600) })),
      stream_options: fc.constant({ include_usage: true }),
    }),
  )
  .map(([{ tools, calls, choice }, marks, named, hasNoTools, parameters]) => {
    const rest = marks.values()
    const mark = () => rest.next().value
    const text = (text: string) => [{ type: 'text', text, ...mark() }]
    const asked = calls.map(({ id, name }) => ({ id, type: 'function', function: { name, arguments: '{}' } }))
    const results = calls.map(({ id, name }) => ({
      ...{ role: 'tool', tool_call_id: id, name, content: 'done' },
      ...mark(),
    }))
    const history = [
      { role: 'assistant', content: null, tool_calls: asked },
      ...results,
      { role: 'user', content: text('Go on') },
    ]
    const functions = tools.map(({ name, schema, strict }) => ({
      ...{ type: 'function', ...mark() },
      function: { name, parameters: schema, ...(strict && { strict }) },
    }))
    return {
      messages: [
        { role: 'system', content: text('Be brief.') },
        { role: 'user', content: text('Go'), ...mark(), ...named },
        ...(calls.length > 0 ? history : []),
      ],
      ...((tools.length > 0 || hasNoTools) && { tools: functions }),
      ...(tools.length > 0 && choice && { tool_choice: { type: 'function', function: { name: choice } } }),
      ...parameters,
      ...('metadata' in parameters && { store: true }),
    }
  })

const messages = fc
  .tuple(
    conversation,
    some({
      stop_sequences: stops(1),
      metadata: id.map((user_id) => ({ user_id })),
      temperature: tenths(9),
    }),
  )
  .map(([{ tools, calls, choice }, parameters]) => {
    const uses = calls.map((call) => ({ type: 'tool_use', input: {}, ...call }))
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' }))
    const history = [
      { role: 'assistant', content: uses },
      { role: 'user', content: results },
    ]
    return {
      messages: [{ role: 'user', content: 'Go' }, ...(calls.length > 0 ? history : [])],
      ...(tools.length > 0 && {
        tools: tools.map(({ name, schema, strict }) => ({
          ...{ name, input_schema: { ...schema, type: 'object' } },
          ...(strict && { strict }),
        })),
        ...(choice && { tool_choice: { type: 'tool', name: choice } }),
      }),
      ...parameters,
    }
  })

const responses = fc
  .tuple(
    conversation,
    some({ user: id, prompt_cache_key: id, parallel_tool_calls: fc.boolean(), temperature: tenths(19) }),
  )
  .map(([{ tools, calls, choice }, parameters]) => ({
    input: [
      { type: 'message', role: 'user', content: 'Go' },
      ...calls.map(({ id, name }) => ({ type: 'function_call', call_id: id, name, arguments: '{}' })),
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ schema, ...tool }) => ({ type: 'function', ...tool, parameters: schema })),
      ...(choice && { tool_choice: { type: 'function', name: choice } }),
    }),
    ...parameters,
  }))

/** Valid requests with tools, a history of calls, and parameters of the dialect. */
export const REQUESTS = { chat, messages, responses } as const
