import type { CheckedProvider } from '../../plugins/overview/provider-endpoints.ts'
import { checkEndpoints } from '../gateway/provider-checks.ts'
import { isConfigured, readSettings, type Settings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { formatColumns } from './output.ts'

/** Calls each configured provider, and prints what is wrong. Throws an error if one fails. */
export async function checkProviders({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const [id] = operands
  const settings = readSettings(environment)
  const ids = id === undefined ? listConfigured(settings) : [requireConfigured(id, settings)]
  if (options.has('model') && !options.has('paid')) throw new UsageError('--model is for --paid.')
  if (ids.length === 0) {
    const message = 'No provider is configured, so the sandbox replaces all of them.'
    print(options.has('json') ? JSON.stringify([]) : message)
    return
  }
  const results = await checkEndpoints(settings, ids, {
    isPaid: options.has('paid'),
    model: options.get('model'),
  })
  if (options.has('json')) print(JSON.stringify(results))
  else for (const line of formatColumns(results.map(toCells))) print(line)
  const failed = results.filter(({ status }) => status === 'failed').length
  if (failed > 0) throw new Error(`${failed} of ${results.length} checks failed.`)
}

function listConfigured({ providers }: Settings): readonly string[] {
  return Object.entries(providers).flatMap(([id, row]) => (isConfigured(row) ? [id] : []))
}

function requireConfigured(id: string, { providers }: Settings): string {
  const row = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (row === undefined)
    throw new Error(`There is no provider ${id}. The settings have ${Object.keys(providers).join(', ')}.`)
  if (!isConfigured(row)) throw new Error(`${id} has no key: set ${row.key_variable}.`)
  return id
}

function toCells({
  provider,
  status,
  ms,
  models,
  missing_models = [],
  message,
}: CheckedProvider): readonly string[] {
  const missing = missing_models.length > 0 && `not listed: ${missing_models.join(', ')}`
  const count = models !== undefined && `${models} ${models === 1 ? 'model' : 'models'}`
  return [provider, status, `${ms} ms`, message ?? [count, missing].filter(Boolean).join('; ')]
}
