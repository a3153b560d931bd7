import { ADMIN_KEY } from '../support/gateway.ts'
import type { Actor } from './actors/actor.ts'
import { createAdmin } from './actors/admin.ts'
import { createLimitedUser } from './actors/limited.ts'
import { createOperatorAtWork } from './actors/operator.ts'
import { createScraper, type Scraper } from './actors/scraper.ts'
import { createRuleWriter, type RuleWriter } from './actors/writer.ts'
import type { Addresses, HttpClient } from './client.ts'
import { chatKinds } from './kinds/chat.ts'
import { faultKinds } from './kinds/faults.ts'
import { leavingKinds } from './kinds/leaving.ts'
import { pluginKinds } from './kinds/plugins.ts'
import { readingKinds } from './kinds/reading.ts'
import { responseKinds } from './kinds/responses.ts'
import { wrongKinds } from './kinds/wrong.ts'
import { makeBoundPerson, makePerson, makeRuledPerson, type Person } from './people.ts'
import { UNLUCKY_PROVIDER } from './servers/settings.ts'
import type { Kind, World } from './world.ts'

/** Kinds of requests that may be sent at any time. */
export const KINDS: readonly Kind[] = [
  ...chatKinds,
  ...responseKinds,
  ...readingKinds,
  ...faultKinds,
  ...leavingKinds,
  ...wrongKinds,
  ...pluginKinds,
]

const PEOPLE = 40
const WRITERS = 4

/** The users of the gateway. */
export interface People {
  readonly people: readonly Person[]
  readonly unlucky: Person
  readonly writers: readonly Person[]
  readonly limited: Person
}

export async function makePeople(client: HttpClient): Promise<People> {
  const many = async (count: number, make: (n: number) => Promise<Person>) => {
    const made: Person[] = []
    for (let n = 0; n < count; n++) made.push(await make(n))
    return made
  }
  return {
    people: await many(PEOPLE, (n) => makeRuledPerson(client, ADMIN_KEY, `person ${n}`)),
    unlucky: await makeBoundPerson(client, ADMIN_KEY, UNLUCKY_PROVIDER),
    writers: await many(WRITERS, (n) => makePerson(client, ADMIN_KEY, `writer ${n}`)),
    limited: await makePerson(client, ADMIN_KEY, 'limited'),
  }
}

/** Actors, which send one request at a time. */
export interface Actors {
  readonly all: readonly Actor[]
  readonly writers: readonly RuleWriter[]
  readonly scraper: Scraper
}

export function makeActors(world: World, { writers, limited }: People, addresses: Addresses): Actors {
  const ruleWriters = writers.map((person) => createRuleWriter(world, person, addresses))
  const scraper = createScraper(addresses, world.options.workers)
  const others = [
    createAdmin(world, addresses),
    createLimitedUser(limited, addresses),
    createOperatorAtWork(world, addresses),
    scraper,
  ]
  return { all: [...ruleWriters, ...others], writers: ruleWriters, scraper }
}
