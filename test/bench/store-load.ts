import { firewallRuleBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { median } from './median.ts'

type Client = Pick<RunningGateway, 'call'>

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Creates paid users with the admin key that the client calls with, and returns a key of each. */
export async function createUsers({ call }: Client, count: number): Promise<readonly string[]> {
  const keys: string[] = []
  for (let n = 0; n < count; n++) {
    const { body } = await call('POST', '/admin/users', { name: `writer ${n}`, plan: 'paid' })
    keys.push((await call('POST', `/admin/users/${body.data.id}/keys`)).body.data.key)
  }
  return keys
}

/** Lets every key create rules, one after the other, for a time. Returns how many were created. */
export async function addRules({ call }: Client, keys: readonly string[], seconds: number) {
  const begun = performance.now()
  const end = begun + seconds * 1000
  let count = 0
  const create = async (key: string) => {
    while (performance.now() < end) {
      const rule = firewallRuleBody({ name: `rule ${count}`, pattern: `pattern ${count}`, action: 'warn' })
      const { status, body } = await call('POST', '/v1/firewall-rules', rule, bearer(key))
      if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
      count += 1
    }
  }
  await Promise.all(keys.map(create))
  return { count, seconds: (performance.now() - begun) / 1000 }
}

/** Median milliseconds of a response that is stored. */
export async function postResponses({ call }: Client, key: string, count: number): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const begun = performance.now()
    const { body } = await call('POST', '/v1/responses', { input: `question ${n}` }, bearer(key))
    if (body.store !== true) throw new Error('the response was not stored')
    times.push(performance.now() - begun)
  }
  return median(times)
}
