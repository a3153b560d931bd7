import { expect } from 'chai'
import { explore } from '../../../support/reservation-explorer.ts'
import {
  type Fault,
  type ModelOptions,
  type ProtocolPart,
  ReservationModel,
} from '../../../support/reservation-model.ts'
import { pairs, ROUNDS, sample } from '../../../support/rounds.ts'

const FAULTS: readonly Fault[] = [
  ...(['request', 'answer', 'late', 'repeated', 'flush', 'stale', 'empty', 'silence', 'crash'] as const),
]

/** Two gateways with a request each, which do not fit into the limit together. */
const COMMON = { costs: [[1], [2]], limit: 3, maxFaults: 1 }

const KINDS = ['budget', 'tokens'] as const

const MAX_STATES = 1_000_000

function exploreAll(options: ModelOptions) {
  return explore(new ReservationModel(options), MAX_STATES)
}

describe('the protocol of reservations, in every state that it can reach', () => {
  for (const [kind, fault] of pairs(KINDS, sample(FAULTS, 4))) {
    it(`never exceeds a limit of ${kind} nor counts wrongly after: ${fault}`, () => {
      const found = exploreAll({ ...COMMON, kind, faults: [fault] })
      expect(found.wrong, found.steps.join('; ')).to.equal(undefined)
      expect(found.states).to.be.above(20)
    })
  }

  for (const kind of KINDS) {
    for (const faults of ROUNDS.protocolFaults) {
      it(`never does so with ${kind} after two of: ${faults.join(', ')}`, () => {
        const found = exploreAll({ ...COMMON, kind, faults, maxFaults: 2 })
        expect(found.wrong, found.steps.join('; ')).to.equal(undefined)
      })
    }
  }

  /** What the model finds without a part of the protocol: so it would find the same fault in the code. */
  const PARTS: Readonly<Record<ProtocolPart, Partial<ModelOptions> & { readonly finds: RegExp }>> = {
    'recognition of settlements': { faults: ['answer'], finds: /the counter has \d, spent were/ },
    'order of commands': { faults: ['repeated'], costs: [[1]], finds: /stay reserved|the counter has/ },
    'release of unknown reservations': { faults: ['answer'], finds: /stay reserved|unknown/ },
    'registration of open reservations': { faults: ['empty'], finds: /committed|the counter has/ },
    'registration of settlements': { faults: ['empty'], kind: 'tokens', finds: /the counter has 0 of/ },
    'exception from the sum': { faults: ['empty'], finds: /the counter has \d, spent were/ },
    'waiting for other gateways': { faults: ['empty'], finds: /committed 4 of 3/ },
    'costs of unknown replies': { faults: ['empty'], finds: /the counter has 0 of 2/ },
  }

  for (const [part, { finds, ...options }] of sample(Object.entries(PARTS), 4)) {
    it(`would not hold without the ${part}`, () => {
      const without = part as ProtocolPart
      const found = exploreAll({ ...COMMON, kind: 'budget', faults: [], ...options, without })
      expect(found.wrong).to.match(finds)
    })
  }
})
