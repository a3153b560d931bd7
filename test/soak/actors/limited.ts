import { ADMIN_KEY } from '../../support/gateway.ts'
import { type Addresses, createClient } from '../client.ts'
import { mustBe, mustEqual } from '../expect.ts'
import type { Person } from '../people.ts'
import type { Actor } from './actor.ts'

const LIMIT = 20

/** Time between two bursts: longer than the minute of the limit, so that each burst starts a new one. */
const EVERY_MS = 62_000

/** Exceeds the rate limit of a user: exactly the permitted number of requests passes. */
export function createLimitedUser({ id, key }: Person, addresses: Addresses): Actor {
  let client = createClient(addresses)
  let last = Number.NEGATIVE_INFINITY
  return {
    name: 'over the limit',
    everyMs: 3000,
    ledgers: [],
    async act() {
      // Measured from the end: on a busy machine the first request may arrive late.
      if (performance.now() - last < EVERY_MS) return 'waits for the minute to end'
      const path = `/admin/users/${id}`
      const body = { plan: 'free', requests_per_minute: LIMIT }
      mustBe(await client.ask({ method: 'PATCH', path, key: ADMIN_KEY, body }), 200)
      const burst = Array.from({ length: LIMIT + 10 }, () => client.ask({ path: '/v1/models', key }))
      const answers = await Promise.all(burst)
      last = performance.now()
      for (const answer of answers) mustBe(answer, 200, 429)
      const through = answers.filter(({ status }) => status === 200).length
      mustEqual(through, LIMIT, 'the number of requests let through')
      return `${LIMIT} let through, the others 429`
    },
    async settle(next) {
      await client.close()
      client = createClient(next)
    },
    close: () => client.close(),
  }
}
