import { expect } from 'chai'
import { startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'

/** The source of a plugin named `x`. */
const x = (more = '', parts = '') =>
  `export default { name: 'x', contract: 3, ${more} setup: () => ({ ${parts} }) }`

/** Parts with one endpoint. */
const endpoint = (method: string, path: string) => `endpoints: [{
  method: '${method}', path: '${path}', access: { type: 'user' }, operationId: 'x', summary: 'X.', tags: [],
  responses: { 200: { description: 'X.' } }, handle: () => ({ status: 200 }),
}]`

const counter = `import { Counter } from 'signalbox'
  export default { name: NAME, contract: 3, setup(_, { metrics }) {
    new Counter({ name: 'visits_total', help: 'Visits.', registers: [metrics] })
    return {}
  } }`

interface Case {
  readonly what: string
  /** Listed after the built-in plugins, unless `list` is given. */
  readonly use?: readonly unknown[]
  readonly list?: readonly unknown[]
  /** Sources by package name, or by file name if it ends in `.mjs`. */
  readonly packages?: Readonly<Record<string, string>>
  readonly says: readonly string[]
}

const cases: readonly Case[] = [
  {
    what: 'a file that does not exist',
    use: ['./nowhere.mjs'],
    says: ['plugin "./nowhere.mjs" cannot be imported: the file', 'Correct the path.'],
  },
  {
    what: 'a package that throws when it is imported',
    use: ['broken'],
    packages: { broken: `throw new Error('no database\\nand more')` },
    says: ['plugin "broken" cannot be imported from', ': no database. Install a version that works'],
  },
  {
    what: 'a package without a default export',
    use: ['broken'],
    packages: { broken: 'export const name = 1' },
    says: ['plugin "broken" does not export a plugin. Its default export must be'],
  },
  {
    what: 'a package for another version of the contract',
    use: ['x'],
    packages: { x: `export default { name: 'x', setup: () => ({}) }` },
    says: [
      'plugin "x" requires version 1 of the plugin contract; this is version 3. Install',
      'see docs/plugins.md',
    ],
  },
  {
    what: 'a package that uses what is for built-in plugins',
    use: ['x'],
    packages: {
      x: `export default {
        name: 'x', contract: 3, uses: { key: { name: 'settings.admin_key' } }, setup: () => ({}) }`,
    },
    says: ['plugin "x" uses the service "settings.admin_key", which no listed plugin provides.'],
  },
  {
    what: 'options that do not fit the schema of a package',
    use: [{ use: '@acme/x', options: { size: 'big' } }],
    packages: { '@acme/x': x(`options: { type: 'object', properties: { size: { type: 'integer' } } },`) },
    says: ['the options of plugin "x" from "@acme/x" are not valid: size must be an integer.'],
  },
  {
    what: 'two plugins with the same name',
    use: ['x', '@acme/x'],
    packages: { x: x(), '@acme/x': x() },
    says: ['plugin "x" from "@acme/x" has the same name as plugin "x". List only one of them.'],
  },
  {
    what: 'a plugin that requires one that is not listed',
    use: ['x'],
    packages: { x: x(`after: ['billing'],`) },
    says: ['plugin "x" requires "billing", which is not listed. List "billing" before it.'],
  },
  {
    what: 'a metric that exists already',
    use: ['x', 'y'],
    packages: { x: counter.replace('NAME', `'x'`), y: counter.replace('NAME', `'y'`) },
    says: [
      'plugin "y" could not be set up: it registers the metric "visits_total", which plugin "x" already has.',
    ],
  },
  {
    what: 'an endpoint that exists already',
    use: ['x'],
    packages: { x: x('', endpoint('GET', '/v1/routing-rules/{name}')) },
    says: [
      'GET /v1/routing-rules/:name of plugin "x" is unreachable, because plugin "routing" already serves GET /v1/routing-rules/:id. Change',
    ],
  },
  {
    what: 'an endpoint that hides another',
    list: ['auth', 'x', ...BUILT_IN.slice(1)],
    packages: { x: x('', endpoint('GET', '/v1/{what}')) },
    says: ['is unreachable, because plugin "x" already serves GET /v1/:what. Change one of the paths.'],
  },
  {
    what: 'an endpoint in place of a built-in one',
    use: ['x'],
    packages: { x: x('', endpoint('GET', '/v1/models')) },
    says: [
      'GET /v1/models of plugin "x" is unreachable, because plugin "models" already serves GET /v1/models.',
    ],
  },
  {
    what: 'an endpoint with an invalid path',
    use: ['x'],
    packages: { x: x('', endpoint('GET', '/v1/{')) },
    says: ['plugin "x" cannot serve GET /v1/{: '],
  },
  {
    what: 'an endpoint with a parameter whose name is no identifier',
    use: ['x'],
    packages: { x: x('', endpoint('GET', '/v1/{1st}')) },
    says: ['plugin "x" cannot serve GET /v1/{1st}: '],
  },
  {
    what: 'an endpoint for an unknown method',
    use: ['x'],
    packages: { x: x('', endpoint('LIST', '/v1/x')) },
    says: [
      'plugin "x" could not be set up: setup returned an invalid result: endpoints[0].method must be one of',
    ],
  },
  {
    what: 'an error code that exists already',
    use: ['x'],
    packages: {
      x: x('', `errorCodes: { not_found: { status: 404, type: 'not_found_error', description: 'Gone.' } }`),
    },
    says: ['plugin "x" defines the error code "not_found", which the gateway already defines. Rename it.'],
  },
  {
    what: 'a condition that exists already',
    use: ['x'],
    packages: {
      x: x('', `conditions: [{ name: 'contains', description: 'a text', schema: {}, literals: () => [] }]`),
    },
    says: ['plugin "x"', '"contains"', 'plugin "routing"'],
  },
  {
    what: 'a plugin that must be listed before another',
    use: ['x'],
    packages: { x: x(`before: ['firewall'],`) },
    says: ['plugin "x" must be listed before "firewall". Move it up, or add it with "before: firewall".'],
  },
  {
    what: 'an event type with an invalid schema',
    use: ['x'],
    packages: { x: x('events: { types: { Seen: { type: 3 } }, initial: () => 0, evolve: (n) => n },') },
    says: ['the events of plugin "x" are not valid: the schema of event "Seen" is not a valid JSON Schema'],
  },
]

describe('a gateway refuses to start, with a sentence that says why, because of', () => {
  for (const { what, use = [], list = [...BUILT_IN, ...use], packages = {}, says } of cases) {
    it(what, async () => {
      const pluginFolder = await installAll(packages)
      const CONFIG = await listPlugins(pluginFolder, list)

      const { message } = await startGateway({ CONFIG }, { pluginFolder }).then(
        () => expect.fail('the gateway started'),
        (error) => error,
      )

      for (const sentence of says) expect(message).to.contain(sentence)
      expect(message.split('\n')).to.have.length(1)
    })
  }
})
