import { formatMs } from '../lib/format.ts'
import type { RequestRecord } from '../lib/schemas.ts'
import { toWaterfall, type WaterfallStep } from '../lib/waterfall.ts'
import { Empty, Panel } from '../ui/page.tsx'

/** Where the scale has labels: parts of the whole time. */
const LABELS = [0, 0.25, 0.5, 0.75, 1]

/** Below, labels between the ends would be equal. */
const MIN_LABELLED_MS = 8

/** What the request waited for, step by step. */
export function Waterfall({ record }: { readonly record: RequestRecord }) {
  const { latency_ms } = record
  const steps = toWaterfall(record)
  const totalMs = Math.max(1, latency_ms, ...steps.map(({ endMs }) => endMs))
  return (
    <Panel title="Where the time went">
      {steps.length === 0 ? (
        <Empty>
          The times of its steps were not recorded: the request was refused before its body was read.
        </Empty>
      ) : (
        <table class="waterfall">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">
                <span class="hidden">When</span>
                <div class="scale" aria-hidden="true">
                  {LABELS.filter((part) => totalMs >= MIN_LABELLED_MS || part % 1 === 0).map((part) => (
                    <span key={part} class="scale-label" style={{ left: `${part * 100}%` }}>
                      {part === 0 ? '0' : formatMs(part * totalMs)}
                    </span>
                  ))}
                </div>
              </th>
              <th scope="col" class="number">
                Took
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <Step key={index} step={step} totalMs={totalMs} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

interface StepProps {
  readonly step: WaterfallStep
  readonly totalMs: number
}

function Step({ step: { label, kind, note, startMs, endMs }, totalMs }: StepProps) {
  const at = (ms: number) => `${(ms / totalMs) * 100}%`
  return (
    <tr>
      <th scope="row">
        {label} {note && <small class={kind === 'failed' ? 'issue' : 'muted'}>{note}</small>}
      </th>
      <td>
        <span class="hidden">
          from {formatMs(startMs)} to {formatMs(endMs)}
        </span>
        <div class="lane" aria-hidden="true">
          <span class={`bar ${kind}`} style={{ left: at(startMs), width: at(endMs - startMs) }} />
        </div>
      </td>
      <td class="number">{formatMs(endMs - startMs)}</td>
    </tr>
  )
}
