import type { Addresses } from '../client.ts'
import { must, mustBe } from '../expect.ts'
import type { Person } from '../people.ts'
import type { World } from '../world.ts'
import type { Actor } from './actor.ts'
import { doubtful } from './ledger.ts'
import { noteRemoval, noteRule, type RuleBook } from './rule-book.ts'
import {
  changeTogether,
  createRule,
  lookAtRules,
  removeRule,
  revertRule,
  sendWrongRule,
  takeEffect,
  updateRule,
} from './rule-deeds.ts'
import { createRuleHand, PATHS, type RuleHand } from './rule-hand.ts'

/** An actor whose expected rules can be compared with those of the gateway. */
export interface RuleWriter extends Actor {
  readonly person: Person
  readonly book: RuleBook
}

const MOST_RULES = 30

/** Changes the rules of one user continuously. */
export function createRuleWriter(world: World, person: Person, addresses: Addresses): RuleWriter {
  const { chance } = world
  const hand = createRuleHand(world, person, addresses)
  const { book, ledger } = hand
  return {
    name: 'rule changes',
    everyMs: 250,
    person,
    book,
    ledgers: [ledger],
    async act() {
      const rules = [...book.rules.values()]
      const dice = chance.integer(100)
      if (rules.length === 0 || (dice < 18 && rules.length < MOST_RULES)) return createRule(hand)
      if (dice < 45) return updateRule(hand, chance.pick(rules))
      if (dice < 58) return removeRule(hand, chance.pick(rules))
      if (dice < 70) return revertRule(hand)
      if (dice < 80) return changeTogether(hand)
      if (dice < 90) return takeEffect(hand)
      return dice < 97 ? lookAtRules(hand) : sendWrongRule(hand)
    },
    async settle(next) {
      await hand.move(next)
      await adopt(hand)
    },
    close: () => hand.client().close(),
  }
}

/** After an unanswered change, takes over the state of the gateway: the whole change, or nothing of it. */
async function adopt({ call, book, ledger }: RuleHand): Promise<void> {
  const seen = new Set<number>()
  let differing = 0
  for (const kind of ['routing', 'firewall'] as const) {
    const list = await call('GET', PATHS[kind])
    mustBe(list, 200)
    for (const shown of list.body.data) {
      seen.add(shown.id)
      if (JSON.stringify(book.rules.get(shown.id)?.shown) === JSON.stringify(shown)) continue
      differing++
      noteRule(book, kind, shown)
    }
  }
  for (const id of [...book.rules.keys()].filter((each) => !seen.has(each))) {
    differing++
    noteRemoval(book, id)
  }
  const changes = doubtful(ledger)
  must(
    differing === 0 || differing === changes.length,
    () => `${differing} rules of ${ledger.who} are not as acknowledged, for the change in doubt [${changes}]`,
  )
}
