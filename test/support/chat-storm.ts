import { type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'
import { type RunningRedis, requireRedis } from './redis.ts'
import { completionOf, type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts'
import { PATIENT_WITH_REDIS, withSettings } from './settings.ts'

/** The prompt of `askAsUser`, and the tokens that it and its answer have. */
export const STORM_TOKENS = { prompt: 10, reply: 40, maxReply: 100 }

/** Lets the provider answer with `STORM_TOKENS`. */
export function playStorm(provider: ScriptedProvider): void {
  provider.play({ body: completionOf(STORM_TOKENS.prompt, STORM_TOKENS.reply) })
}

/** Starts Redis and a provider that plays a storm, before the tests of the running suite. */
export function useRedisAndProvider(): { readonly redis: RunningRedis; readonly provider: ScriptedProvider } {
  const started = {} as { redis: RunningRedis; provider: ScriptedProvider }
  before(async function () {
    started.redis = await requireRedis(this, 'a-redis-password')
    started.provider = await startScriptedProvider()
    playStorm(started.provider)
  })
  after(async () => {
    started.provider?.close()
    await started.redis?.stop()
  })
  return started
}

/** Sends one request that may use `STORM_TOKENS.maxReply` tokens of reply. */
export function askAsUser(gateway: RunningGateway, key: string, body: object = {}): Promise<Answer> {
  return gateway.call(
    'POST',
    '/v1/chat/completions',
    {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: STORM_TOKENS.maxReply,
      ...body,
    },
    { authorization: `Bearer ${key}` },
  )
}

/** No client of a storm may need more to be refused. */
const MAX_REQUESTS = 100

/** `clients` concurrent clients, over all gateways, each until it has been refused, or has failed. */
export async function stormUntilRefused(
  gateways: readonly RunningGateway[],
  key: string,
  { clients, isFinal }: { clients: number; isFinal: (answer: Answer) => boolean },
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  const client = async (number: number) => {
    for (let request = number; request < number + MAX_REQUESTS; request++) {
      const answer = await askAsUser(gateways[request % gateways.length] as RunningGateway, key)
      answers.push(answer)
      if (isFinal(answer) || ![200, 429].includes(answer.status)) return
    }
    throw new Error(`a client was not refused: ${JSON.stringify(answers.at(-1)?.body)}`)
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return answers
}

/** The environment of a gateway whose only provider is the scripted one. */
export const withProvider = (provider: ScriptedProvider) => ({
  OPENAI_BASE_URL: provider.url,
  OPENAI_API_KEY: 'a-provider-key',
})

/** The same, with Redis. */
export async function withProviderAndRedis(provider: ScriptedProvider, redis: RunningRedis) {
  const settings = await withSettings(`rate_limits: { ${PATIENT_WITH_REDIS} }`)
  return { ...withProvider(provider), ...settings, REDIS_URL: redis.url }
}

/** Sets the limits of a user. */
export function limitUser(gateway: RunningGateway, userId: number, limits: object): Promise<Answer> {
  return gateway.call('PATCH', `/admin/users/${userId}`, limits, AS_ADMIN)
}
