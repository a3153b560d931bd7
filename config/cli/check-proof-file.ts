import { readFile } from 'node:fs/promises'
import { isJsonObject } from '../../core/contract/index.ts'
import {
  checkProof,
  formatVerifierKey,
  isSignedBy,
  type ProofToCheck,
  parseVerifierKey,
  type VerifierKey,
} from '../../core/event-log/transparency/checkpoint.ts'
import { parseJson } from '../../core/util/json.ts'
import { type CommandArgs, UsageError } from './command.ts'

/** Checks a proof without a gateway. Throws with what is wrong. */
export async function runProofCheck({ operands: [file = ''], options, print }: CommandArgs): Promise<void> {
  const proof = parseProofFile(await readFile(file, 'utf8'))
  if (proof === undefined)
    throw new Error(`${file} is not an answer of GET /admin/audit/{position}/proof in JSON.`)
  const givenKey = options.get('key')
  const key = parseVerifierKey(givenKey ?? proof.key)
  if (key === undefined && givenKey !== undefined)
    throw new UsageError('KEY must be a public key as "signalbox log key" prints it.')
  if (key === undefined) throw new Error('The key in the proof is not a public key.')
  const checked = checkProof(proof, ({ note, origin }) => isSignedBy(note, { ...key, name: origin }))
  if (typeof checked === 'string') throw new Error(`The proof is not valid. ${checked}`)
  // The same key can sign for another log, such as one that was made up beside the true one.
  if (checked.origin !== key.name)
    throw new Error(
      `The proof is not valid. Its checkpoint is of ${checked.origin}, and the key is that of ${key.name}.`,
    )
  print(`Event: ${proof.leaf}`)
  print(`It is event ${proof.index} of the ${checked.size} that ${checked.origin} had at the checkpoint.`)
  print(describeKey(key, givenKey !== undefined))
}

function describeKey(key: VerifierKey, isGiven: boolean): string {
  if (isGiven) return 'The checkpoint was signed with the given key.'
  return `Compare the key with the one that you trust, or pass it with --key: ${formatVerifierKey(key)}`
}

/** Accepts the answer with or without its envelope. Returns undefined for anything else. */
function parseProofFile(text: string): (ProofToCheck & { readonly key: string }) | undefined {
  const answer = parseJson(text)
  const proof = isJsonObject(answer) && isJsonObject(answer.data) ? answer.data : answer
  if (!isJsonObject(proof)) return undefined
  const { index, leaf, hashes, checkpoint, key } = proof
  const isComplete = Number.isSafeInteger(index) && Number(index) >= 0 && Array.isArray(hashes)
  if (!isComplete || typeof leaf !== 'string' || typeof checkpoint !== 'string' || typeof key !== 'string')
    return undefined
  return hashes.every((each) => typeof each === 'string')
    ? { index: Number(index), leaf, hashes, checkpoint, key }
    : undefined
}
