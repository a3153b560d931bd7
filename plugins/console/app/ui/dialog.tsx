import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ApiError } from '../lib/api.ts'
import { toError } from '../lib/resource.ts'
import { CopyButton } from './copy-button.tsx'
import { Form, TextField } from './fields.tsx'
import { ErrorMessage } from './page.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus in it, and closes it with Escape. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ChangeDialogProps {
  readonly title: string
  readonly action: string
  readonly isDangerous?: boolean
  readonly needsReason?: boolean
  readonly children?: ComponentChildren
  /** Makes the change. The dialog stays open if it rejects, and shows the error. */
  readonly onSave: (reason: string) => Promise<unknown>
  readonly onClose: () => void
}

/** Asks for the reason of a change, and makes it. */
export function ChangeDialog(props: ChangeDialogProps) {
  const { title, action, isDangerous, needsReason = true, children, onSave, onClose } = props
  const [reason, setReason] = useState('')
  const [error, setError] = useState<ApiError>()
  const [isSaving, setSaving] = useState(false)

  async function save() {
    setSaving(true)
    try {
      await onSave(reason)
      onClose()
    } catch (thrown) {
      setError(toError(thrown))
      setSaving(false)
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={save}>
        {children}
        {needsReason && (
          <TextField
            label="Reason"
            value={reason}
            onInput={setReason}
            required
            maxLength={500}
            hint="Recorded with the change, and shown in the audit trail."
          />
        )}
        {error && <ErrorMessage error={error} />}
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isSaving}>
            {action}
          </button>
        </div>
      </Form>
    </Dialog>
  )
}

/** Shows a key that cannot be shown again. */
export function KeyDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>Copy it now. Only a hash of it is stored, so it cannot be shown again.</p>
      <p>
        <code class="secret">{secret}</code>
      </p>
      <div class="actions end">
        <CopyButton text={secret} />
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
