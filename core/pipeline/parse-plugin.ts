import {
  CONTRACT_VERSION,
  type GatewayMiddleware,
  isJsonObject,
  type JsonObject,
  type Plugin,
} from '../contract/index.ts'
import { compileValidator, describeSchemaErrors } from '../util/json-schema.ts'
import { lazy } from '../util/lazy.ts'

/**
 * Converts the default export of a module to a plugin: a plugin object, or plain Koa middleware. `use` is the
 * module's name in the plugin list. Throws if the export is neither. See docs/decisions/plugins.md, "Unknown
 * fields of a plugin stop the start".
 */
export function parsePlugin(use: string, exported: unknown): Plugin {
  const plugin = unwrapDefault(exported)
  if (isFunction(plugin)) return wrapKoaMiddleware(use, plugin)
  if (!isJsonObject(plugin)) {
    throw new Error(
      `plugin "${use}" does not export a plugin. ` +
        'Its default export must be { name, setup } or Koa middleware.',
    )
  }
  if (typeof plugin.name !== 'string' || plugin.name === '') {
    throw new Error(`plugin "${use}" has no name. Add a "name" to its default export.`)
  }
  const title = pluginTitle(plugin.name, use)
  checkContract(title, plugin.contract)
  if (!isFunction(plugin.setup)) {
    throw new Error(`${title} has no setup function. Add "setup(options, host)" to its default export.`)
  }
  const validate = pluginValidator()
  if (!validate(plugin)) throw invalidPluginError(title, describeSchemaErrors(validate.errors).join('; '))
  const { events } = plugin
  if (events !== undefined && !(isFunction(events.initial) && isFunction(events.evolve))) {
    throw invalidPluginError(title, 'events.initial and events.evolve must be functions')
  }
  return plugin
}

/** The plugin's name in error messages, with its name in the plugin list if that differs. */
export function pluginTitle(name: string, use: string): string {
  return name === use ? `plugin "${name}"` : `plugin "${name}" from "${use}"`
}

/** TypeScript and Babel nest the default export of modules that they compile to CommonJS. */
function unwrapDefault(exported: unknown): unknown {
  return isJsonObject(exported) && exported.__esModule === true ? exported.default : exported
}

function checkContract(title: string, contract: unknown = 1): void {
  if (contract === CONTRACT_VERSION) return
  throw new Error(
    `${title} requires version ${JSON.stringify(contract)} of the plugin contract; ` +
      `this is version ${CONTRACT_VERSION}. ` +
      `Install a version of the plugin for contract ${CONTRACT_VERSION}, or update it: see docs/plugins.md.`,
  )
}

const SERVICE_SCHEMA = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }

/** Unknown fields are errors: a misspelled option could make a guard run too late. */
const pluginValidator = lazy(() =>
  compileValidator<Plugin>({
    type: 'object',
    additionalProperties: false,
    properties: {
      name: {},
      contract: {},
      after: { type: 'array', items: { type: 'string' } },
      before: { type: 'array', items: { type: 'string' } },
      options: { type: 'object' },
      uses: { type: 'object', additionalProperties: SERVICE_SCHEMA },
      provides: { type: 'array', items: SERVICE_SCHEMA },
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
      replay: {
        type: 'object',
        additionalProperties: false,
        required: ['type'],
        properties: { type: { enum: ['pure', 'recorded', 'not'] }, why: { type: 'string', minLength: 1 } },
        if: { properties: { type: { const: 'not' } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['why'] },
      },
      setup: {},
    },
  }),
)

function invalidPluginError(title: string, issues: string): Error {
  return new Error(`${title} is invalid: ${issues}. See docs/plugins.md.`)
}

type AnyFunction = (...parameters: readonly unknown[]) => unknown

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function'
}

/**
 * Wraps plain Koa middleware as a plugin. A function with two parameters is the middleware; any other
 * function takes the options and returns it.
 */
function wrapKoaMiddleware(use: string, exported: AnyFunction): Plugin {
  if (exported.length === 2)
    return { name: use, contract: CONTRACT_VERSION, setup: () => ({ middleware: toMiddleware(exported) }) }
  return {
    name: use,
    contract: CONTRACT_VERSION,
    options: { type: 'object' },
    async setup(options: JsonObject) {
      const middleware = await exported(options)
      if (isFunction(middleware)) return { middleware: toMiddleware(middleware) }
      throw new Error(
        'its default export is a function that returned no middleware for these options; ' +
          'it must be (ctx, next) => …, or (options) => (ctx, next) => …',
      )
    },
  }
}

/** The types differ only in the result, and the chain accepts any result. */
function toMiddleware(middleware: AnyFunction): GatewayMiddleware {
  return middleware as unknown as GatewayMiddleware
}
