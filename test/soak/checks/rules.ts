import { listOf } from '../actors/rule-book.ts'
import type { RuleWriter } from '../actors/writer.ts'
import type { HttpClient } from '../client.ts'
import { mustBe } from '../expect.ts'
import type { Check } from './check.ts'

/** The lists show exactly the rules that result from the acknowledged changes, in order. */
export async function checkRules(client: HttpClient, writers: readonly RuleWriter[]): Promise<Check> {
  const faults: string[] = []
  let count = 0
  for (const { person, book } of writers) {
    for (const kind of ['routing', 'firewall'] as const) {
      const got = await client.ask({ path: `/v1/${kind}-rules`, key: person.key })
      mustBe(got, 200)
      count += got.body.data.length
      const [actual, expected] = [JSON.stringify(got.body.data), JSON.stringify(listOf(book, kind))]
      if (actual !== expected)
        faults.push(`${kind} rules of user ${person.id}: ${actual}, expected ${expected}`)
    }
  }
  return { name: 'the rules are what the acknowledged changes make', found: `${count} rules`, faults }
}
