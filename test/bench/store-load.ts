import { firewallRuleBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { load } from './load.ts'

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
export async function addRules(baseUrl: string, keys: readonly string[], seconds: number) {
  const url = `${baseUrl}/v1/firewall-rules`
  const loads = await Promise.all(
    keys.map((key, n) => {
      const rule = firewallRuleBody({ name: `rule ${n}`, pattern: `pattern ${n}`, action: 'warn' })
      return load({ url, headers: bearer(key), body: JSON.stringify(rule) }, { connections: 1, seconds })
    }),
  )
  const failures = loads.reduce((sum, one) => sum + one.failures, 0)
  if (failures > 0) throw new Error(`${failures} rules were not created`)
  return { count: loads.reduce((sum, one) => sum + one.requests, 0), seconds }
}
