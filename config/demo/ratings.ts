import type { Random } from '../../core/util/random.ts'
import type { GivenFeedback } from '../../plugins/ledger/store/feedback-queries.ts'
import type { LedgerRecord } from '../../plugins/ledger/store/record.ts'
import type { TopicName } from './prompts.ts'

/** Of all replies. */
const RATED = 0.4

/** The quality of the catalogue that a model needs for good replies. */
const NEEDED_QUALITY: Readonly<Record<TopicName, number>> = {
  batch: 40,
  support: 60,
  research: 80,
  code: 88,
  legal: 90,
}

/** The share of good replies of a model that is good enough, and of another one. */
const GOOD = { enough: 0.92, others: 0.4 }

/** Returns what somebody says about the reply to a request; undefined for most requests. */
export function rateDemoReply(
  { requestId, userId, keyId, model, error }: LedgerRecord,
  { time, topic, quality }: { readonly time: number; readonly topic: TopicName; readonly quality: number },
  random: Random,
): GivenFeedback | undefined {
  if (model === null || error !== null || !random.chance(RATED)) return undefined
  const isGood = random.chance(quality >= NEEDED_QUALITY[topic] ? GOOD.enough : GOOD.others)
  const given = { name: 'quality', score: isGood ? 1 : 0, comment: null, givenBy: keyId }
  return { requestId, userId, ...given, givenAt: time + 1000 + random.integer(60_000) }
}
