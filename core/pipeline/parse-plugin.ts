import {
  CONTRACT_VERSION,
  type GatewayMiddleware,
  isJsonObject,
  type JsonObject,
  type Plugin,
} from '../contract/index.ts'
import { compileValidator, describeSchemaError } from '../util/json-schema.ts'
import { lazy } from '../util/lazy.ts'

/** What a plugin says of itself. A misspelt field is refused: a guard would not be where it should. */
const checkPlugin = lazy(() =>
  compileValidator<Plugin>({
    type: 'object',
    additionalProperties: false,
    properties: {
      name: {},
      contract: {},
      after: { type: 'array', items: { type: 'string' } },
      applies: { enum: ['inference', 'management', 'all'] },
      needs: { enum: ['headers', 'request'] },
      options: { type: 'object' },
      events: {
        type: 'object',
        additionalProperties: false,
        required: ['types', 'initial', 'evolve'],
        properties: {
          types: { type: 'object', additionalProperties: { type: 'object' } },
          version: { type: 'integer', minimum: 1 },
          upcasts: { type: 'object' },
          initial: {},
          evolve: {},
        },
      },
      setup: {},
    },
  }),
)

/** A module's default export as a plugin: one that is written as such, or plain Koa middleware. Throws a sentence for all else. */
export function parsePlugin(use: string, exported: unknown): Plugin {
  const given = unwrap(exported)
  if (isFunction(given)) return fromKoaMiddleware(use, given)
  if (!isJsonObject(given)) {
    throw new Error(
      `plugin "${use}" has no default export that is a plugin. Export default { name, setup }, or Koa middleware.`,
    )
  }
  if (typeof given.name !== 'string' || given.name === '') {
    throw new Error(`plugin "${use}" has no name. Give its default export a "name".`)
  }
  const title = pluginTitle(given.name, use)
  checkContract(title, given.contract)
  if (!isFunction(given.setup)) {
    throw new Error(`${title} has no setup function. Give its default export a "setup(options, host)".`)
  }
  const check = checkPlugin()
  if (!check(given)) {
    const faults = (check.errors ?? []).map(describeSchemaError).join('; ')
    throw new Error(`${title} is not made as it should be: ${faults}. See docs/plugins.md.`)
  }
  const { events } = given
  if (events !== undefined && !(isFunction(events.initial) && isFunction(events.evolve))) {
    throw new Error(
      `${title} is not made as it should be: events.initial and events.evolve must be functions.`,
    )
  }
  return given
}

/** How a plugin is called in sentences: by its name, and by what the list calls it. */
export function pluginTitle(name: string, use: string): string {
  return name === use ? `plugin "${name}"` : `plugin "${name}" of "${use}"`
}

function checkContract(title: string, contract: unknown = 1): void {
  if (contract === CONTRACT_VERSION) return
  throw new Error(
    `${title} is written for version ${JSON.stringify(contract)} of the plugin contract, and this is version ${CONTRACT_VERSION}. ` +
      `Install a version of it for ${CONTRACT_VERSION}, or the Signalbox that it is for.`,
  )
}

/** TypeScript and Babel put the default export of a module that they make CommonJS of one level lower. */
function unwrap(exported: unknown): unknown {
  return isJsonObject(exported) && exported.__esModule === true ? exported.default : exported
}

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function'
}

/**
 * A plugin that is made of plain Koa middleware: a function of two parameters is the middleware itself, any other takes the options
 * and gives it. It runs for all requests and may stand before the body is read.
 */
function fromKoaMiddleware(use: string, exported: AnyFunction): Plugin {
  const plugin = { name: use, applies: 'all', needs: 'headers' } as const
  if (exported.length === 2) return { ...plugin, setup: () => ({ middleware: asMiddleware(exported) }) }
  return {
    ...plugin,
    options: { type: 'object' },
    async setup(options: JsonObject) {
      const made = await exported(options)
      if (typeof made === 'function') return { middleware: asMiddleware(made) }
      throw new Error(
        'its default export is a function that gave no middleware for these options; ' +
          'it must be (ctx, next) => …, or (options) => (ctx, next) => …',
      )
    },
  }
}

type AnyFunction = (...parameters: readonly unknown[]) => unknown

/** The cast says what Koa middleware is; what it returns is awaited by the chain, whatever it is. */
function asMiddleware(made: unknown): GatewayMiddleware {
  return made as GatewayMiddleware
}
