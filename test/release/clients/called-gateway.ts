import { startSandbox } from '../../../providers/sandbox/server.ts'
import { CLOUD_MODELS, startCloudSandbox } from '../../support/cloud-sandbox.ts'
import { startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { MODELS, providersAt } from '../../support/providers.ts'
import { UNLIMITED, withSettings } from '../../support/settings.ts'
import { addRules } from '../../support/strict/record-answers.ts'
import type { CalledGateway } from './run-program.ts'

/** What the gateway calls: the providers' own APIs, or Bedrock, Vertex AI and Azure. */
export type CalledProviders = 'own' | 'clouds'

/**
 * Starts a gateway in this process whose five providers are one sandbox, for a user whose rules warn about
 * every request and block the word "forbidden". In the short form, with one model. The
 * clouds have a model each, and two of Vertex AI.
 */
export async function startCalledGateway(
  isShort: boolean,
  providers: CalledProviders = 'own',
): Promise<CalledGateway & { stop(): Promise<void> }> {
  const sandbox = await (providers === 'own' ? startProviders() : startCloudSandbox())
  // Programs provoke failures on purpose, which must not open a breaker for the next program.
  const more = `${UNLIMITED}breaker: { min_requests: 1000, open_ms: 1 }\n`
  const settings = await withSettings(more + sandbox.settings)
  const gateway = await startGateway({ ...sandbox.environment, ...settings })
  const user = await newUser(gateway)
  await addRules(user)
  const models = Object.values(providers === 'own' ? MODELS : CLOUD_MODELS)
  return {
    url: gateway.url,
    key: user.key,
    models: isShort && providers === 'own' ? models.slice(0, 1) : models,
    async stop() {
      await gateway.stop()
      await sandbox.close()
    },
  }
}

async function startProviders() {
  const sandbox = await startSandbox({})
  return { settings: '', environment: providersAt(sandbox), close: sandbox.close }
}
