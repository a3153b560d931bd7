import { startSandbox } from '../../../providers/sandbox/server.ts'
import { startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { MODELS, providersAt } from '../../support/providers.ts'
import { UNLIMITED, withSettings } from '../../support/settings.ts'
import { addRules } from '../../support/strict/record-answers.ts'
import type { CalledGateway } from './run-program.ts'

/**
 * Starts a gateway in this process whose five providers are one sandbox, for a user whose rules warn about
 * every request and block the word "forbidden". In the short form, with one model.
 */
export async function startCalledGateway(
  isShort: boolean,
): Promise<CalledGateway & { stop(): Promise<void> }> {
  const sandbox = await startSandbox({})
  // Programs provoke failures on purpose, which must not open a breaker for the next program.
  const settings = await withSettings(`${UNLIMITED}breaker: { min_requests: 1000, open_ms: 1 }\n`)
  const gateway = await startGateway({ ...providersAt(sandbox), ...settings })
  const user = await newUser(gateway)
  await addRules(user)
  const models = Object.values(MODELS)
  return {
    url: gateway.url,
    key: user.key,
    models: isShort ? models.slice(0, 1) : models,
    async stop() {
      await gateway.stop()
      await sandbox.close()
    },
  }
}
