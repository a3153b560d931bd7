import { expect } from 'chai'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { JsonObject, Plugin } from '../../../../core/contract/index.ts'
import { createOperatorRegistry } from '../../../../core/pipeline/operator-registry.ts'
import { setUpPlugins } from '../../../../core/pipeline/set-up.ts'
import { installAll } from '../../../support/plugins.ts'

/** A plugin of the name `x`. */
const x = (more = '', parts = '') => `export default { name: 'x', ${more} setup: () => ({ ${parts} }) }`

const builtIn = (name: string, after: readonly string[] = []): Plugin => ({ name, after, setup: () => ({}) })

const BUILT_INS = new Map(
  [builtIn('auth'), builtIn('plan', ['auth']), builtIn('audit')].map((plugin) => [plugin.name, plugin]),
)

const BUILT_IN = [...BUILT_INS.keys()]

interface Case {
  readonly what: string
  /** After the built-in ones, unless `list` says otherwise. */
  readonly use?: readonly (string | { readonly use: string; readonly options?: JsonObject })[]
  readonly list?: readonly (string | { readonly use: string; readonly options?: JsonObject })[]
  /** Packages by name; a name that ends in `.mjs` is a file. */
  readonly packages?: Readonly<Record<string, string>>
  readonly says: readonly string[]
}

const cases: readonly Case[] = [
  {
    what: 'an unknown name',
    use: ['firewal'],
    says: ['plugin "firewal" is not a built-in', 'npm install firewal'],
  },
  { what: 'a built-in listed twice', use: ['plan'], says: ['plugin "plan" is listed twice. List it once.'] },
  {
    what: 'an order that cannot work',
    list: ['plan', 'auth'],
    says: ['plugin "plan" must be listed after "auth". Move it down.'],
  },
  {
    what: 'a missing predecessor',
    list: BUILT_IN.filter((name) => name !== 'auth'),
    says: ['plugin "plan" needs "auth", which is not listed. Add it before.'],
  },
  {
    what: 'options where none are taken',
    list: [{ use: 'auth', options: { strict: true } }, ...BUILT_IN.slice(1)],
    says: ['the options of plugin "auth" are not valid: unknown field "strict"'],
  },
  {
    what: 'a package that needs another which is not there',
    use: ['broken'],
    packages: { broken: `import 'left-pad'\n${x()}` },
    says: ['plugin "broken" cannot be imported', "Cannot find package 'left-pad'", 'Install what it needs'],
  },
  {
    what: 'a package whose contract is no number',
    use: ['x'],
    packages: { x: x(`contract: '1',`) },
    says: ['plugin "x" is written for version "1" of the plugin contract'],
  },
  {
    what: 'options whose schema is none',
    use: ['x'],
    packages: { x: x(`options: { type: 'objekt' },`) },
    says: ['the options of plugin "x" are described by no JSON schema: '],
  },
  {
    what: 'a package with the name of a built-in',
    use: ['x'],
    packages: { x: `export default { name: 'audit', setup: () => ({}) }` },
    says: ['plugin "audit" of "x" has the name of plugin "audit". List only one of them.'],
  },
  {
    what: 'a misspelt field',
    use: ['x'],
    packages: { x: x(`aplies: 'all',`) },
    says: ['plugin "x" is not made as it should be: unknown field "aplies"'],
  },
  {
    what: 'a place that there is not',
    use: ['x'],
    packages: { x: x(`applies: 'everything',`) },
    says: ['plugin "x" is not made as it should be: applies must be one of inference, management, all'],
  },
  {
    what: 'no name',
    use: ['x'],
    packages: { x: 'export default { setup: () => ({}) }' },
    says: ['plugin "x" has no name. Give'],
  },
  {
    what: 'no setup',
    use: ['./x.mjs'],
    packages: { 'x.mjs': `export default { name: 'x' }` },
    says: ['plugin "x" of "./x.mjs" has no setup function. Give'],
  },
  {
    what: 'a setup that throws',
    use: ['x'],
    packages: { x: `export default { name: 'x', setup() { throw new Error('bad licence') } }` },
    says: ['plugin "x" could not be set up: bad licence.'],
  },
  {
    what: 'a setup that returns nothing',
    use: ['x'],
    packages: { x: `export default { name: 'x', setup() {} }` },
    says: ['plugin "x" could not be set up: what its setup returns is not made as it should be'],
  },
  {
    what: 'a misspelt part',
    use: ['x'],
    packages: { x: x('', 'decides: () => {}') },
    says: ['plugin "x" could not be set up', 'unknown field "decides"'],
  },
  {
    what: 'an action whose schema is none',
    use: ['x'],
    packages: {
      x: x('', `actions: [{ name: 'a', description: 'a', schema: { type: 3 }, combine: 'all', apply() {} }]`),
    },
    says: ['plugin "x" could not be set up: the schema of its action "a" is no JSON schema'],
  },
  {
    what: 'events without a state',
    use: ['x'],
    packages: { x: x('events: { types: { Seen: {} }, initial: () => 0 },') },
    says: ['plugin "x" is not made as it should be: events.evolve is required'],
  },
  {
    what: 'a condition that is there already',
    use: ['x', 'y'],
    packages: {
      x: x('', `conditions: [{ name: 'c', description: 'a', schema: {}, matcher: () => () => true }]`),
      y: x('', `conditions: [{ name: 'c', description: 'a', schema: {}, literals: () => [] }]`).replace(
        "'x'",
        "'y'",
      ),
    },
    says: ['plugin "y" brings the condition "c", which is there already. Rename it.'],
  },
  {
    what: 'Koa middleware that is none',
    use: ['x'],
    packages: { x: 'export default (options) => 7' },
    says: ['plugin "x" could not be set up: its default export is a function that gave no middleware'],
  },
]

describe('setting plugins up is refused, in a sentence, with', () => {
  for (const { what, use = [], list = [...BUILT_IN, ...use], packages = {}, says } of cases) {
    it(what, async () => {
      const folder = await installAll(packages)
      const entries = list.map((entry) =>
        typeof entry === 'string' ? { use: entry, options: {} } : { options: {}, ...entry },
      )

      const refused = await setUpPlugins(entries, BUILT_INS, folder, {
        log: { read: nothing, subscribe: nothing },
        logger: pino({ level: 'silent' }),
        metrics: new Registry(),
        operators: createOperatorRegistry(),
        openEvents: async () => new Map(),
      }).then(
        () => 'nothing was refused',
        (error: Error) => error.message,
      )

      for (const sentence of says) expect(refused).to.contain(sentence)
      expect(refused).not.to.contain('\n')
    })
  }
})

async function* nothing(): AsyncGenerator<never> {}
