import { useState } from 'preact/hooks'
import type { ApiError } from '../lib/api.ts'
import { send } from '../lib/api.ts'
import { toError } from '../lib/resource.ts'
import { hasRole, isOperator } from '../lib/session.ts'
import type { RequestFeedback, RequestRecord } from '../lib/types.ts'
import { TextField } from '../ui/fields.tsx'
import { ErrorMessage, Panel } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'

const SIGNALS: Readonly<Record<string, string>> = {
  cut_off: 'cut off at a limit of its length',
  invalid_tool_call: 'arguments of a tool call do not parse',
  schema_mismatch: 'not the JSON that was demanded',
  asked_again: 'asked again within a minute',
}

/** What was said about an answer: thumbs and a comment, and what the answer shows about itself. */
export function FeedbackPanel({ record }: { readonly record: RequestRecord }) {
  const [feedback, setFeedback] = useState(record.feedback)
  const quality = feedback.find(({ name }) => name === 'quality')
  const [comment, setComment] = useState(quality?.comment ?? '')
  const [error, setError] = useState<ApiError>()
  const canGive = !isOperator() || hasRole('editor')

  async function give(score: number): Promise<void> {
    const path = isOperator() ? '/admin/feedback' : '/v1/feedback'
    const text = comment.trim()
    const body = { request_id: record.x_request_id, score, ...(text !== '' && { comment: text }) }
    try {
      const { data } = await send<{ data: RequestFeedback }>('POST', path, body)
      setFeedback([data, ...feedback.filter(({ name }) => name !== 'quality')])
      setError(undefined)
    } catch (thrown) {
      setError(toError(thrown))
    }
  }

  return (
    <Panel title="Feedback">
      {canGive && (
        <div class="actions">
          <Thumb label="Good answer" icon="👍" isPressed={quality?.score === 1} onClick={() => give(1)} />
          <Thumb label="Bad answer" icon="👎" isPressed={quality?.score === 0} onClick={() => give(0)} />
        </div>
      )}
      <p>
        {quality === undefined ? (
          <span class="muted">Nobody has rated this answer.</span>
        ) : (
          <ScoreBadge score={quality.score} />
        )}{' '}
        {record.signals.map((signal) => (
          <Badge key={signal} tone="warn">
            {SIGNALS[signal] ?? signal}
          </Badge>
        ))}
      </p>
      {canGive && quality !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void give(quality.score)
          }}
        >
          <TextField label="Comment" value={comment} onInput={setComment} rows={2} maxLength={2000} />
          <button type="submit">Save the comment</button>
        </form>
      )}
      {!canGive && quality?.comment && <p>{quality.comment}</p>}
      <ul class="list">
        {feedback
          .filter(({ name }) => name !== 'quality')
          .map(({ name, score, comment }) => (
            <li key={name}>
              {name} <ScoreBadge score={score} /> {comment}
            </li>
          ))}
      </ul>
      {error && <ErrorMessage error={error} />}
    </Panel>
  )
}

interface ThumbProps {
  readonly label: string
  readonly icon: string
  readonly isPressed: boolean
  readonly onClick: () => void
}

function Thumb({ label, icon, isPressed, onClick }: ThumbProps) {
  return (
    <button
      type="button"
      class={isPressed ? 'primary' : ''}
      aria-label={label}
      aria-pressed={isPressed}
      onClick={onClick}
    >
      <span aria-hidden="true">{icon}</span>
    </button>
  )
}

/** A score from 0 to 1. */
export function ScoreBadge({ score }: { readonly score: number }) {
  const tone = score >= 0.7 ? 'good' : score >= 0.4 ? 'warn' : 'bad'
  return <Badge tone={tone}>score {score.toFixed(2)}</Badge>
}
