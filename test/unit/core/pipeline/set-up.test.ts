import { expect } from 'chai'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { type JsonObject, type Plugin, StrictObject, Type } from '../../../../core/contract/index.ts'
import { ServiceRegistry } from '../../../../core/pipeline/plugin-order.ts'
import { createAdapterRegistry, createOperatorRegistry } from '../../../../core/pipeline/registries.ts'
import { setUpPlugins } from '../../../../core/pipeline/set-up.ts'
import { createMemorySharedState } from '../../../../core/shared-state/memory.ts'
import { installAll } from '../../../support/plugins.ts'

/** The source of a plugin with the name `x`. */
const x = (more = '', parts = '') =>
  `export default { name: 'x', contract: 3, ${more} setup: () => ({ ${parts} }) }`

const builtIn = (name: string, after: readonly string[] = []): Plugin => ({ name, after, setup: () => ({}) })

const BUILT_INS = new Map(
  [builtIn('auth'), builtIn('plan', ['auth']), builtIn('audit')].map((plugin) => [plugin.name, () => plugin]),
)

const BUILT_IN = [...BUILT_INS.keys()]

interface Case {
  readonly title: string
  /** Listed after the built-in plugins; ignored if `list` is set. */
  readonly use?: readonly (string | { readonly use: string; readonly options?: JsonObject })[]
  readonly list?: readonly (string | { readonly use: string; readonly options?: JsonObject })[]
  /** Package sources by name; a name that ends in `.mjs` is a file. */
  readonly packages?: Readonly<Record<string, string>>
  readonly messageParts: readonly string[]
}

const CARD_ERROR = `{ status: 422, type: 'validation_error', description: 'A card number.' }`

const ENDPOINT = `method: 'GET', path: '/x', access: { type: 'public' }, operationId: 'readX', summary: 'X.',
  tags: [], responses: { 200: { description: 'X.' } }`

const cases: readonly Case[] = [
  {
    title: 'an unknown name',
    use: ['firewal'],
    messageParts: ['plugin "firewal" is not a built-in', 'npm install firewal'],
  },
  {
    title: 'a built-in listed twice',
    use: ['plan'],
    messageParts: ['plugin "plan" is listed twice. List it once.'],
  },
  {
    title: 'a wrong order',
    list: ['plan', 'auth'],
    messageParts: ['plugin "plan" must be listed after "auth". Move it down, or add it with "after: auth".'],
  },
  {
    title: 'a missing required plugin',
    list: BUILT_IN.filter((name) => name !== 'auth'),
    messageParts: ['plugin "plan" requires "auth", which is not listed. List "auth" before it.'],
  },
  {
    title: 'options of a plugin that takes none',
    list: [{ use: 'auth', options: { strict: true } }, ...BUILT_IN.slice(1)],
    messageParts: ['the options of plugin "auth" are not valid: unknown field "strict"'],
  },
  {
    title: 'a package with a missing dependency',
    use: ['broken'],
    packages: { broken: `import 'left-pad'\n${x()}` },
    messageParts: [
      'plugin "broken" cannot be imported',
      "Cannot find package 'left-pad'",
      'Install its missing dependencies',
    ],
  },
  {
    title: 'a contract that is not a number',
    use: ['x'],
    packages: { x: x(`contract: '1',`) },
    messageParts: ['plugin "x" requires version "1" of the plugin contract'],
  },
  {
    title: 'an invalid options schema',
    use: ['x'],
    packages: { x: x(`options: { type: 'objekt' },`) },
    messageParts: ['the options schema of plugin "x" is not a valid JSON schema: '],
  },
  {
    title: 'a package with the name of a built-in',
    use: ['x'],
    packages: { x: `export default { name: 'audit', contract: 3, setup: () => ({}) }` },
    messageParts: ['plugin "audit" from "x" has the same name as plugin "audit". List only one of them.'],
  },
  {
    title: 'an unknown field',
    use: ['x'],
    packages: { x: x(`aplies: 'all',`) },
    messageParts: ['plugin "x" is invalid: unknown field "aplies"'],
  },
  {
    title: 'no name',
    use: ['x'],
    packages: { x: 'export default { contract: 3, setup: () => ({}) }' },
    messageParts: ['plugin "x" has no name. Add'],
  },
  {
    title: 'no setup',
    use: ['./x.mjs'],
    packages: { 'x.mjs': `export default { name: 'x', contract: 3 }` },
    messageParts: ['plugin "x" from "./x.mjs" has no setup function. Add'],
  },
  {
    title: 'a setup that throws',
    use: ['x'],
    packages: { x: `export default { name: 'x', contract: 3, setup() { throw new Error('bad licence') } }` },
    messageParts: ['plugin "x" could not be set up: bad licence.'],
  },
  {
    title: 'a setup that returns undefined',
    use: ['x'],
    packages: { x: `export default { name: 'x', contract: 3, setup() {} }` },
    messageParts: [
      'plugin "x" could not be set up: setup returned an invalid result: the value must be an object',
    ],
  },
  {
    title: 'an unknown field in the result of setup',
    use: ['x'],
    packages: { x: x('', 'decides: () => {}') },
    messageParts: ['plugin "x" could not be set up', 'unknown field "decides"'],
  },
  {
    title: 'an action with an invalid schema',
    use: ['x'],
    packages: {
      x: x('', `actions: [{ name: 'a', description: 'a', schema: { type: 3 }, combine: 'all', apply() {} }]`),
    },
    messageParts: ['plugin "x" could not be set up: the schema of its action "a" is not a valid JSON schema'],
  },
  {
    title: 'an action that chooses and applies with every rule',
    use: ['x'],
    packages: {
      x: x(
        '',
        `actions: [{ name: 'a', description: 'a', schema: {}, combine: 'all', chooses: 'model', apply() {} }]`,
      ),
    },
    messageParts: ['combine of the action "a" must be "first", since it has "chooses"'],
  },
  {
    title: 'events without evolve',
    use: ['x'],
    packages: { x: x('events: { types: { Seen: {} }, initial: () => 0 },') },
    messageParts: ['plugin "x" is invalid: events.evolve is required'],
  },
  {
    title: 'a condition that is already defined',
    use: ['x', 'y'],
    packages: {
      x: x('', `conditions: [{ name: 'c', description: 'a', schema: {}, matcher: () => () => true }]`),
      y: x('', `conditions: [{ name: 'c', description: 'a', schema: {}, literals: () => [] }]`).replace(
        "'x'",
        "'y'",
      ),
    },
    messageParts: ['plugin "y" defines the condition "c", which plugin "x" already defines. Rename it.'],
  },
  ...['authorization', 'cookie', 'x-goog-api-key', 'x-amz-security-token', 'sec-websocket-protocol'].map(
    (header) => ({
      title: `a condition on the header ${header}`,
      use: ['x'],
      packages: {
        x: x(
          '',
          `conditions: [{ name: 'c', description: 'a', schema: {}, headers: ['x-team', '${header}'],
            matcher: () => () => true }]`,
        ),
      },
      messageParts: [
        'plugin "x"',
        `the condition "c" declares the header "${header}", which carries credentials`,
      ],
    }),
  ),
  {
    title: 'an error code that is already defined',
    use: ['x', 'y'],
    packages: {
      x: x('', `errorCodes: { card: ${CARD_ERROR} }`),
      y: x('', `errorCodes: { card: ${CARD_ERROR} }`).replace("'x'", "'y'"),
    },
    messageParts: ['plugin "y" defines the error code "card", which plugin "x" already defines. Rename it.'],
  },
  {
    title: "an error code of the gateway's",
    use: ['x'],
    packages: { x: x('', `errorCodes: { not_found: ${CARD_ERROR} }`) },
    messageParts: ['plugin "x" defines the error code "not_found", which the gateway already defines.'],
  },
  {
    title: 'an error code with an invalid status',
    use: ['x'],
    packages: { x: x('', `errorCodes: { card: { status: 200, type: 'a', description: 'A.' } }`) },
    messageParts: ['errorCodes.card.status must be between 400 and 599'],
  },
  {
    title: 'an endpoint without a handler',
    use: ['x'],
    packages: { x: x('', `endpoints: [{ ${ENDPOINT} }]`) },
    messageParts: ['plugin "x" could not be set up: handle of GET /x must be a function'],
  },
  {
    title: 'an endpoint with an invalid schema',
    use: ['x'],
    packages: { x: x('', `endpoints: [{ ${ENDPOINT}, query: { a: { type: 3 } }, handle() {} }]`) },
    messageParts: ['the schema of a of GET /x is not a valid JSON schema'],
  },
  {
    title: 'an operation id that is already used',
    use: ['x', 'y'],
    packages: {
      x: x('', `endpoints: [{ ${ENDPOINT}, handle() {} }]`),
      y: x('', `endpoints: [{ ${ENDPOINT}, path: '/y', handle() {} }]`).replace("'x'", "'y'"),
    },
    messageParts: ['GET /y of plugin "y" has the operation id "readX" of GET /x of plugin "x". Rename it.'],
  },
  {
    title: 'a function that returns no middleware',
    use: ['x'],
    packages: { x: 'export default (options) => 7' },
    messageParts: [
      'plugin "x" could not be set up: its default export is a function that returned no middleware',
    ],
  },
]

describe('setUpPlugins rejects, with a single-line message,', () => {
  for (const { title, use = [], list = [...BUILT_IN, ...use], packages = {}, messageParts } of cases) {
    it(title, async () => {
      const folder = await installAll(packages)
      const entries = list.map((entry) =>
        typeof entry === 'string' ? { use: entry, options: {} } : { options: {}, ...entry },
      )

      const message = await setUpPlugins(entries, BUILT_INS, folder, createServices()).then(
        () => 'no error',
        (error: Error) => error.message,
      )

      for (const part of messageParts) expect(message).to.contain(part)
      expect(message).not.to.contain('\n')
    })
  }
})

describe('setUpPlugins, with a package that', () => {
  it('never ends its setup, rejects', async () => {
    const folder = await installAll({
      x: `export default { name: 'x', contract: 3, setup: () => new Promise(() => undefined) }`,
    })
    const services = { ...createServices(), pluginTimeoutMs: 10 }
    const error = await setUpPlugins([{ use: 'x', options: {} }], BUILT_INS, folder, services).catch(
      (error: Error) => error,
    )
    expect(error).to.have.property(
      'message',
      'plugin "x" could not be set up: setup did not end within 10 ms (timeouts.plugin_ms).',
    )
  })

  it('fails to close, closes the others', async () => {
    const folder = await installAll({
      x: x('', `close() { throw new Error('stuck') }`),
      y: x('', `close: () => Promise.reject('stuck')`).replace("'x'", "'y'"),
    })
    let isClosed = false
    const last: Plugin = {
      name: 'last',
      setup: () => ({
        async close() {
          isClosed = true
        },
      }),
    }
    const entries = ['last', 'x', 'y'].map((use) => ({ use, options: {} }))
    const { close } = await setUpPlugins(entries, new Map([['last', () => last]]), folder, createServices())
    await close()
    expect(isClosed).to.equal(true)
  })
})

describe('setUpPlugins passes options', () => {
  const options = StrictObject({
    limit: Type.Integer({ minimum: 1, default: 10 }),
    nested: StrictObject({ name: Type.String({ default: 'a' }) }, { default: {} }),
  })

  it('with the defaults of the schema of a built-in plugin, and leaves the settings as they are', async () => {
    const received: JsonObject[] = []
    const setup = (value: JsonObject) => {
      received.push(value)
      return {}
    }
    const builtIns = new Map([['x', () => ({ name: 'x', options, setup })]])
    const given = [{}, { limit: 3, nested: { name: 'b' } }]
    for (const entry of given) {
      await setUpPlugins([{ use: 'x', options: entry }], builtIns, '', createServices())
    }
    expect(received).to.deep.equal([{ limit: 10, nested: { name: 'a' } }, given[1]])
    expect(given[0]).to.deep.equal({})
  })

  it('with the defaults of the schema of a package', async () => {
    const schema = `{ type: 'object', properties: { code: { type: 'string', default: 'teapot' } } }`
    const source = `export default { name: 'x', contract: 3, options: ${schema}, setup({ code }) { throw new Error(code) } }`
    const folder = await installAll({ x: source })
    const error = await setUpPlugins([{ use: 'x', options: {} }], BUILT_INS, folder, createServices()).catch(
      (error: Error) => error,
    )
    expect(error).to.have.property('message', 'plugin "x" could not be set up: teapot.')
  })
})

function createServices(): Parameters<typeof setUpPlugins>[3] {
  return {
    registry: new ServiceRegistry(),
    log: { read: nothing, subscribe: nothing },
    logger: pino({ level: 'silent' }),
    metrics: new Registry(),
    operators: createOperatorRegistry(),
    sharedState: createMemorySharedState(),
    costOf: () => undefined,
    pluginTimeoutMs: 1000,
    adapters: createAdapterRegistry([], () => expect.fail('no adapter is asked for')),
    hasOperators: () => true,
    openEvents: async () => new Map(),
  }
}

async function* nothing(): AsyncGenerator<never> {}
