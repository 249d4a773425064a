/** What the overview loads when a problem is acknowledged: in one file, which is smaller than two. */
export { AcknowledgeDialog } from './acknowledge-dialog.tsx'
export { AcknowledgedItems } from './acknowledged-items.tsx'
