import { expect } from 'chai'
import { judgeNewKinds } from '../../../../plugins/learned-routing/judge-new-kinds.ts'
import type { Rating } from '../../../../plugins/learned-routing/rating.ts'
import { createRatingCollection, weighPrompts } from '../../../../plugins/learned-routing/ratings.ts'
import { MADE_CATALOGUE, makeRatings } from '../../../support/made-ratings.ts'
import { itInFull, ROUNDS } from '../../../support/rounds.ts'

const judge = (ratings: readonly Rating[], seed: number) => {
  const collection = createRatingCollection(MADE_CATALOGUE)
  for (const rating of ratings) collection.add(rating)
  return judgeNewKinds(weighPrompts(collection.prompts(), seed), {
    candidates: ['small', 'large'],
    catalogue: MADE_CATALOGUE,
    seed,
  })
}

describe('judging new kinds of prompts', () => {
  itInFull('counts kinds by the weight of their ratings, which one user cannot fill', () => {
    for (const seed of ROUNDS.newKinds) {
      const others = makeRatings(600, { topics: 1, both: true, seed })
      const flood = makeRatings(2800, { topics: 8, both: true, seed: seed + 10 })
      const flooded = [...others, ...flood.map((rating) => ({ ...rating, user: 'one user' }))]
      expect(judge(flooded, seed)).to.deep.equal({ prompts: 1700, gains: {}, holds: false })
      // The same ratings by many users are of eight kinds.
      expect(judge([...others, ...flood], seed).gains).to.have.keys('length', 'catalogue', 'constants')
    }
  })
})
