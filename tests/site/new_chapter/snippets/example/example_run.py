# %% [markdown]
# # An example

# %% tags=["show"]
print("example")
