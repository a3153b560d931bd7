import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { formatCount } from '../lib/format.ts'
import { toError, useResource } from '../lib/resource.ts'
import { canVerify, findProofIssue, type InclusionProof, parseCheckpoint } from '../lib/verify-proof.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Badge, type Tone } from '../ui/values.tsx'

/** What the newest checkpoint covers. It can be saved, to compare later logs with it. */
export function VerificationBadge() {
  const checkpoint = useResource('checkpoint', () => send<string>('GET', '/admin/audit/checkpoint'))
  const { data, error } = checkpoint
  if (error) return <Badge tone="warn">{error.status === 404 ? 'No checkpoint yet' : error.message}</Badge>
  if (data === undefined) return null
  const { size, root } = parseCheckpoint(data)
  return (
    <>
      <span title={`Root ${root}`}>
        <Badge tone="good">Signed up to event {formatCount(size)}</Badge>
      </span>
      <button type="button" onClick={() => saveFile('checkpoint.txt', data)}>
        Save the checkpoint
      </button>
    </>
  )
}

type Outcome = { readonly tone: Tone; readonly text: string; readonly proof?: InclusionProof }

async function verify(position: number): Promise<Outcome> {
  try {
    const proof = await get<InclusionProof>(`/admin/audit/${position}/proof`)
    if (!canVerify()) {
      const text =
        'Browsers verify over HTTPS only. Save the proof, and check it with "signalbox proof check".'
      return { tone: 'warn', text, proof }
    }
    const issue = await findProofIssue(proof)
    const { size } = parseCheckpoint(proof.checkpoint)
    const valid = `This event is in the signed log of ${formatCount(size)} events. Your browser computed it.`
    return { tone: issue ? 'bad' : 'good', text: issue ?? valid, proof }
  } catch (thrown) {
    return { tone: 'warn', text: toError(thrown).message }
  }
}

/** Verifies an event in the browser, and offers its proof to be saved. */
export function ProofButton({ position }: { readonly position: number }) {
  const [outcome, setOutcome] = useState<Outcome>()
  const { proof, tone = 'plain', text } = outcome ?? {}
  return (
    <>
      <button type="button" class="link" onClick={() => verify(position).then(setOutcome)}>
        Verify
      </button>
      {outcome && (
        <Dialog title={`Event at position ${position}`} onClose={() => setOutcome(undefined)}>
          <p>
            <Badge tone={tone}>{tone === 'good' ? 'verified' : 'not verified'}</Badge> {text}
          </p>
          {proof && (
            <p class="muted">
              Compare the key with the one that you saved: <code class="secret">{proof.key}</code>
            </p>
          )}
          <div class="actions end">
            {proof && (
              <button
                type="button"
                onClick={() => saveFile(`proof-${position}.json`, JSON.stringify({ data: proof }, null, 2))}
              >
                Save the proof
              </button>
            )}
            <button type="button" class="primary" onClick={() => setOutcome(undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function saveFile(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text]))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
