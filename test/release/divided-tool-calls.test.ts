import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { useGateway } from '../support/tool-clients.ts'

const DENIED = 'files__delete'
const PATH = '/srv/forbidden'
const JSON_ARGUMENTS = JSON.stringify({ path: PATH, input: PATH })

const delta = (call: object) => chunk({ tool_calls: [call] })
const start = (name: string, more: object = {}) =>
  delta({ index: 0, id: 'call_0', type: 'function', function: { name, arguments: '' }, ...more })
const add = (json: string, more: object = { index: 0 }) => delta({ ...more, function: { arguments: json } })
const letters = (text: string) => [...text]

/** Streams with a call of the denied tool, each in its own way. */
const STREAMS: Readonly<Record<string, readonly object[]>> = {
  'arguments by letters': [start(DENIED), ...letters(JSON_ARGUMENTS).map((letter) => add(letter))],
  'a name by letters': [
    ...letters(DENIED).map((letter) => start(letter)),
    ...letters(JSON_ARGUMENTS).map((letter) => add(letter)),
  ],
  'no number': [
    start(DENIED, { index: undefined }),
    ...letters(JSON_ARGUMENTS).map((letter) => add(letter, {})),
  ],
  'a name that follows an allowed one': [start('files__read'), add('{}'), start(DENIED), add(JSON_ARGUMENTS)],
  'two calls by turns': [
    start('files__read'),
    start(DENIED, { index: 1, id: 'call_1' }),
    ...letters(JSON_ARGUMENTS).flatMap((letter) => [add(' '), add(letter, { index: 1 })]),
    add('{}'),
  ],
  'a custom call': [
    delta({ index: 0, id: 'call_0', type: 'custom', custom: { name: DENIED, input: '' } }),
    ...letters(PATH).map((letter) => delta({ index: 0, custom: { input: letter } })),
  ],
  'a call of another choice': [
    chunk({ content: 'Hm.' }),
    {
      ...chunk({}),
      choices: [
        {
          index: 1,
          delta: {
            tool_calls: [{ index: 0, id: 'c', function: { name: DENIED, arguments: JSON_ARGUMENTS } }],
          },
        },
      ],
    },
  ],
  'a call of 2023': [
    chunk({ function_call: { name: DENIED, arguments: '' } }),
    ...letters(JSON_ARGUMENTS).map((letter) => chunk({ function_call: { arguments: letter } })),
  ],
}

const parameters = { type: 'object', properties: { path: { type: 'string' } } }
const messages = [{ role: 'user', content: 'Go' }]
const names = ['files__read', DENIED]

/** Requests of every dialect with the tools in each form. */
const REQUESTS: Readonly<Record<string, readonly [path: string, body: object]>> = {
  chat: [
    '/v1/chat/completions',
    { messages, tools: names.map((name) => ({ type: 'function', function: { name, parameters } })) },
  ],
  'chat, custom': [
    '/v1/chat/completions',
    { messages, tools: names.map((name) => ({ type: 'custom', custom: { name } })) },
  ],
  'chat, functions': [
    '/v1/chat/completions',
    { messages, functions: names.map((name) => ({ name, parameters })) },
  ],
  messages: [
    '/v1/messages',
    { messages, max_tokens: 99, tools: names.map((name) => ({ name, input_schema: parameters })) },
  ],
  responses: [
    '/v1/responses',
    { input: 'Go', tools: names.map((name) => ({ type: 'function', name, parameters, strict: false })) },
  ],
  'responses, custom': [
    '/v1/responses',
    { input: 'Go', tools: names.map((name) => ({ type: 'custom', name })) },
  ],
}

const RULES = {
  'by name': { match: { server: 'files', tool: 'delete' } },
  'by arguments': { match: { tool: 'delete', arguments: { '/path': { contains: 'forbidden' } } } },
}

for (const mode of ['refuse', 'remove'])
  describe(`denied calls in many pieces, with in_replies: ${mode}`, function () {
    this.timeout(120_000)
    let provider: ScriptedProvider
    let user: TestUser

    before(async () => {
      provider = await startScriptedProvider()
    })
    after(() => provider?.close())

    const gateway = useGateway(
      async () => ({
        ...{ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: provider.url },
        ...(await withSettings(`${UNLIMITED}tool_rules: { in_replies: ${mode}, hide_definitions: false }\n`)),
      }),
      async (started) => {
        user = await newUser(started)
      },
    )

    const send = async (path: string, body: object) => {
      const response = await fetch(gateway().url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', stream: true, ...body }),
      })
      let text = ''
      try {
        for await (const bytes of response.body ?? []) text += Buffer.from(bytes).toString()
      } catch {
        // A reply that is refused later breaks off.
      }
      return text
    }
    /** All that arrived, with what was divided put together again. */
    const joined = (text: string) =>
      [...text.matchAll(/"(?:arguments|partial_json|delta|input|name)":"((?:[^"\\]|\\.)*)"/g)]
        .map(([, value]) => value)
        .join('')

    for (const [way, [path, body]] of Object.entries(REQUESTS))
      it(`do not get through: ${way}`, async () => {
        for (const [form, stream] of Object.entries(STREAMS)) {
          provider.play({ chunks: [...stream, chunk({}, 'tool_calls')] })
          const open = joined(await send(path, body))
          // Without rules, calls that the dialect has do arrive: otherwise the test could not fail.
          if (form === 'arguments by letters') expect(open, form).to.include('forbidden')
        }
        for (const [kind, rule] of Object.entries(RULES)) {
          user = await newUser(gateway())
          const operations = [{ kind: 'tool', op: 'create', data: toolRuleBody({ name: kind, ...rule }) }]
          expect((await user.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
          for (const [form, stream] of Object.entries(STREAMS)) {
            // The input of a custom tool has no path.
            if (kind === 'by arguments' && form === 'a custom call') continue
            provider.play({ chunks: [...stream, chunk({}, 'tool_calls')] })
            const text = await send(path, body)
            expect(joined(text), `${kind}, ${form}: ${text}`).to.not.include('forbidden')
          }
        }
      })
  })
