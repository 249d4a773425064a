-- Computes the health of a FleetWorker or FleetWorkerSet for Argo CD, which has no rules for custom resources. Put it
-- into the ConfigMap argocd-cm under two keys: resource.customizations.health.muster.dev_FleetWorker and
-- resource.customizations.health.muster.dev_FleetWorkerSet.
--
-- Checks in this order: not yet reconciled, suspended, stalled, waiting for a person, reconciling, ready or not ready.

local function condition(type)
  for _, each in ipairs(obj.status.conditions or {}) do
    if each.type == type then return each end
  end
  return { status = "Unknown" }
end

if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "waiting for the operator" }
end
local ready = condition("Ready")
if obj.spec.suspend then
  return { status = "Suspended", message = ready.message }
end
local stalled = condition("Stalled")
if stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
local reconciling = condition("Reconciling")
if reconciling.reason == "WaitingForApproval" or reconciling.reason == "Paused" then
  return { status = "Suspended", message = reconciling.message }
end
if reconciling.status == "True" then
  return { status = "Progressing", message = reconciling.message }
end
local words = { True = "Healthy", False = "Degraded" }
return { status = words[ready.status] or "Progressing", message = ready.message }
