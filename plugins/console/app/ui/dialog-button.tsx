import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../lib/api.ts'
import { navigate } from '../lib/router.ts'
import { ChangeDialog } from './dialog.tsx'

interface DialogButtonProps {
  readonly label: string
  readonly kind?: 'primary' | 'danger' | 'quiet'
  readonly disabled?: boolean
  /** Shows the dialog. Its fields start anew whenever it opens. */
  readonly children: (close: () => void) => ComponentChildren
}

/** A button that opens a dialog. */
export function DialogButton({ label, kind, disabled = false, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class={kind} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  )
}

interface ConfirmButtonProps extends Pick<DialogButtonProps, 'kind'> {
  readonly label: string
  readonly title: string
  /** Says what the change cannot undo. */
  readonly children?: ComponentChildren
  readonly onConfirm: (reason: string) => Promise<unknown>
}

/** A button for a change that takes something away: it asks first, and for the reason. */
export function ConfirmButton({ label, kind, title, children, onConfirm }: ConfirmButtonProps) {
  return (
    <DialogButton label={label} {...(kind && { kind })}>
      {(close) => (
        <ChangeDialog title={title} action={label} isDangerous onClose={close} onSave={onConfirm}>
          {children}
        </ChangeDialog>
      )}
    </DialogButton>
  )
}

interface DeleteButtonProps {
  /** What is deleted. */
  readonly name: string
  /** Its endpoint. */
  readonly path: string
  /** The page of those that remain. */
  readonly list: string
  readonly children?: ComponentChildren
}

/** Deletes what a page shows, and goes back to the list. */
export function DeleteButton({ name, path, list, children }: DeleteButtonProps) {
  return (
    <ConfirmButton
      label="Delete"
      kind="danger"
      title={`Delete ${name}?`}
      onConfirm={(reason) => send('DELETE', path, undefined, { reason }).then(() => navigate(list))}
    >
      {children}
    </ConfirmButton>
  )
}
