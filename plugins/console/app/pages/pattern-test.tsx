import { useEffect, useState } from 'preact/hooks'
import { type ApiError, post, toError } from '../lib/api.ts'
import type { PatternTestResult } from '../lib/schemas.ts'
import { root } from '../lib/session.ts'
import { TextField } from '../ui/fields.tsx'

/** While somebody types, the gateway is not asked for every letter. */
const PAUSE_MS = 200

interface PatternProps {
  readonly type?: unknown
  readonly pattern?: unknown
  readonly replacement?: unknown
}

interface Tested {
  readonly result?: PatternTestResult
  readonly error?: ApiError
}

/** Runs a pattern on a text by the engine of the gateway, whenever one of them changes. */
function usePatternTest({ type, pattern, replacement }: PatternProps, text: string): Tested {
  const [tested, setTested] = useState<Tested>({})
  useEffect(() => {
    if (!pattern) return setTested({})
    const { abort, signal } = abortable()
    const body = { type, pattern, text, ...(replacement ? { replacement } : {}) }
    const timer = setTimeout(() => {
      post<PatternTestResult>(`${root()}/pattern-test`, body, { signal }).then(
        (result) => !signal.aborted && setTested({ result }),
        (thrown: unknown) => !signal.aborted && setTested({ error: toError(thrown) }),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort()
    }
  }, [type, pattern, replacement, text])
  return tested
}

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

/** Says why a pattern can never match, as soon as it is entered. */
export function PatternIssue(props: PatternProps) {
  const { result, error } = usePatternTest(props, '')
  const issue = error?.message ?? (result?.pattern_error && `Never matches: ${result.pattern_error}`)
  return (
    <span role="status" class="issue">
      {issue}
    </span>
  )
}

interface PatternTestProps extends PatternProps {
  readonly action?: unknown
}

/** Shows what a pattern matches in a text. */
export function PatternTest({ action, ...props }: PatternTestProps) {
  const [text, setText] = useState('')
  const { result, error } = usePatternTest(props, text)
  return (
    <div class="pattern-test">
      <TextField
        label="Try it on a text"
        rows={3}
        value={text}
        onInput={setText}
        placeholder="Paste a text here. It is not stored."
      />
      {error && <p class="issue">{error.message}</p>}
      {result && text !== '' && (
        <output>
          <p class={result.pattern_error ? 'issue' : 'muted'}>{summarize(result)}</p>
          <Highlighted text={text} matches={result.matches} />
          {action === 'mask' && result.masked !== null && (
            <>
              <p class="muted">The provider would get:</p>
              <pre>{result.masked}</pre>
            </>
          )}
        </output>
      )}
    </div>
  )
}

function summarize({ pattern_error, matches, is_finished, is_match }: PatternTestResult): string {
  if (pattern_error) return pattern_error
  if (!is_finished) return 'The pattern did not finish within its limits.'
  if (is_match && matches.length === 0) return 'It matches, but no part of the text.'
  return matches.length === 1 ? '1 match' : `${matches.length} matches`
}

interface HighlightedProps {
  readonly text: string
  readonly matches: PatternTestResult['matches']
}

function Highlighted({ text, matches }: HighlightedProps) {
  let end = 0
  const parts = matches.map((match) => {
    const before = text.slice(end, match.start)
    end = Math.max(end, match.end)
    return (
      <>
        {before}
        <mark>{text.slice(match.start, match.end)}</mark>
      </>
    )
  })
  return (
    <pre>
      {parts}
      {text.slice(end)}
    </pre>
  )
}
