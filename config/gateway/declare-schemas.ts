import { createBodyParser, createParamsParser, createQueryParser } from '../../core/http/parse-call.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { compileOptionsValidator, createLazyTypeGuard } from '../../core/util/json-schema.ts'
import { readSettings } from '../settings/settings.ts'
import { BUILT_IN_PLUGINS } from './built-in-plugins.ts'
import { openEmptyState } from './empty-state.ts'
import { openOfflineGateway } from './offline-gateway.ts'

/**
 * Declares the schemas of all endpoints, operators and plugin options, as a gateway with the shipped settings
 * does. `npm run build` generates their validators.
 */
export async function declareSchemas(): Promise<void> {
  const settings = readSettings({})
  const logger = createLogger('fatal')
  // Listed or not.
  for (const load of BUILT_IN_PLUGINS.values()) {
    const { options } = await load()
    if (options !== undefined) compileOptionsValidator(options, true)
  }
  const state = await openEmptyState(settings, logger)
  const gateway = await openOfflineGateway(settings, state, logger)
  try {
    for (const { parts } of gateway.steps) {
      for (const { schema } of [...(parts.conditions ?? []), ...(parts.actions ?? [])])
        createLazyTypeGuard(schema)
      for (const endpoint of parts.endpoints ?? []) {
        createParamsParser(endpoint)
        createQueryParser(endpoint)
        createBodyParser(endpoint)
      }
    }
  } finally {
    await gateway.close()
    await state.close()
  }
}
