import type { Addresses, Loose } from '../client.ts'
import { must, mustBe } from '../expect.ts'
import type { Person } from '../people.ts'
import type { World } from '../world.ts'
import type { Actor } from './actor.ts'
import { doubtful, readAfterDoubt } from './ledger.ts'
import { noteRemoval, noteRule, type RuleBook, type RuleKind } from './rule-book.ts'
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

const MAX_RULES = 30

/** Changes the rules of one user continuously. */
export function createRuleWriter(world: World, person: Person, addresses: Addresses): RuleWriter {
  const { chance } = world
  const hand = createRuleHand(world, person, addresses)
  const { book, ledger } = hand
  let life = world.life()
  return {
    name: 'rule changes',
    everyMs: 250,
    person,
    book,
    ledgers: [ledger],
    async act() {
      life = world.life()
      const rules = [...book.rules.values()]
      const dice = chance.integer(100)
      if (rules.length === 0 || (dice < 18 && rules.length < MAX_RULES)) return createRule(hand)
      if (dice < 45) return updateRule(hand, chance.pick(rules))
      if (dice < 58) return removeRule(hand, chance.pick(rules))
      if (dice < 70) return revertRule(hand)
      if (dice < 80) return changeTogether(hand)
      if (dice < 90) return takeEffect(hand)
      return dice < 97 ? lookAtRules(hand) : sendWrongRule(hand)
    },
    async settle(next) {
      await hand.move(next)
      await adopt(hand, life === world.life())
    },
    close: () => hand.client().close(),
  }
}

/** The rules of a user as the gateway lists them, by kind. */
type RuleLists = Readonly<Record<RuleKind, readonly Loose[]>>

async function readLists({ call }: RuleHand): Promise<RuleLists> {
  const read = async (kind: RuleKind) => {
    const list = await call('GET', PATHS[kind])
    mustBe(list, 200)
    return list.body.data
  }
  return { routing: await read('routing'), firewall: await read('firewall') }
}

/** Returns what the lists show differently from the book, and the rules that they do not show. */
function compareLists({ book }: RuleHand, lists: RuleLists) {
  const shown = [...lists.routing, ...lists.firewall]
  const seen = new Set(shown.map(({ id }) => id))
  const differs = (rule: Loose) => JSON.stringify(book.rules.get(rule.id)?.shown) !== JSON.stringify(rule)
  const changed = (['routing', 'firewall'] as const).flatMap((kind) =>
    lists[kind].filter(differs).map((rule) => ({ kind, rule })),
  )
  return { changed, missing: [...book.rules.keys()].filter((id) => !seen.has(id)) }
}

/** After a change in doubt, takes over the state of the gateway: the whole change, or nothing of it. */
async function adopt(hand: RuleHand, isSameLife: boolean): Promise<void> {
  const { book, ledger } = hand
  const changes = doubtful(ledger)
  const count = (lists: RuleLists) => {
    const { changed, missing } = compareLists(hand, lists)
    return changed.length + missing.length
  }
  const canBeLate = isSameLife && changes.length > 0
  const lists = await readAfterDoubt(
    () => readLists(hand),
    (state) => count(state) > 0,
    canBeLate,
  )
  const { changed, missing } = compareLists(hand, lists)
  for (const { kind, rule } of changed) noteRule(book, kind, rule)
  for (const id of missing) noteRemoval(book, id)
  const differing = changed.length + missing.length
  must(
    differing === 0 || differing === changes.length,
    () => `${differing} rules of ${ledger.who} are not as acknowledged, for the change in doubt [${changes}]`,
  )
}
