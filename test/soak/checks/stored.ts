import type { HttpClient } from '../client.ts'
import { textOf } from '../kinds/responses.ts'
import type { StoredLedger, StoredOne } from '../stored.ts'
import { type Check, fewOf } from './check.ts'

const AT_ONCE = 16

/**
 * Every response that was acknowledged as stored can be read unchanged; deleted ones and those with
 * `store: false` cannot.
 */
export async function checkStored(client: HttpClient, { all }: StoredLedger): Promise<Check> {
  const faults: string[] = []
  const waiting = [...all.values()]
  const kept = waiting.filter(({ text }) => text !== undefined).length

  async function look({ id, person, text }: StoredOne): Promise<void> {
    const got = await client.ask({ path: `/v1/responses/${id}`, key: person.key })
    if (text === undefined) {
      if (got.status !== 404) faults.push(`${id} must not be there: ${got.status} ${got.text.slice(0, 200)}`)
    } else if (got.status !== 200) faults.push(`${id} is lost: ${got.status} ${got.text.slice(0, 200)}`)
    else if (textOf(got.body) !== text) faults.push(`${id} is not as it was: ${got.text.slice(0, 200)}`)
  }

  async function work(): Promise<void> {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) await look(one)
  }

  const gone = waiting.length - kept
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return {
    name: 'every stored response can be read back',
    found: `${kept} kept, ${gone} gone as asked`,
    faults: fewOf(faults),
  }
}
